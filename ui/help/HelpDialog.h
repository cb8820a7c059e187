#pragma once

#include <QDialog>
#include <QString>
#include <vector>

#include "ui/help/HelpTopic.h"

class QLineEdit;
class QTextBrowser;
class QTreeWidget;
class QTreeWidgetItem;

namespace lockstep::ui {

/// All help in one place: a line that searches, what was found by chapter, and the page of what is
/// chosen. Never larger than the window that it belongs to; the work goes on beside it. [ui-thread]
class HelpDialog : public QDialog {
  Q_OBJECT

 public:
  explicit HelpDialog(QWidget* parent = nullptr);

  /// Shows these topics, in the order of their chapters; the search is empty then.
  void setTopics(std::vector<HelpTopic> topics);
  /// Opens it at a topic; with an empty title at the first of the chapter. One that is not there
  /// leaves it at the beginning.
  void openAt(const QString& chapter, const QString& title);

  /// What is shown: chapter and title, for tests.
  [[nodiscard]] QString shownTitle() const;
  [[nodiscard]] QString shownText() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fill(const QString& typed);
  void choose(QTreeWidgetItem* item);
  void showChosen();
  void follow(const QString& title);
  [[nodiscard]] const HelpTopic* topicOf(const QTreeWidgetItem* item) const;
  /// The topic with this title, in any chapter where that is empty; else the very first one.
  [[nodiscard]] QTreeWidgetItem* itemOf(const QString& chapter, const QString& title) const;

  std::vector<HelpTopic> topics_;
  QLineEdit* line_;
  QTreeWidget* tree_;
  QTextBrowser* page_;
};

}  // namespace lockstep::ui
