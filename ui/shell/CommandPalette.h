#pragma once

#include <QDialog>
#include <QString>
#include <functional>
#include <vector>

class QLineEdit;
class QListView;
class QStandardItemModel;

namespace lockstep::ui {

/// One line finds everything the studio can do: commands, views, experiments, runs. Type some
/// letters of it, in order; Enter does it. [ui-thread]
class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  struct Entry {
    QString text;            ///< "Run experiment: demo"
    QString note;            ///< keys, or where it stands
    std::function<void()> act;
    QString reason;          ///< why it cannot be done now; empty: it can
  };

  explicit CommandPalette(QWidget* parent = nullptr);

  /// Shows the entries over the parent's upper middle, with an empty line.
  void open(std::vector<Entry> entries);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void act();

  std::vector<Entry> entries_;
  std::vector<std::size_t> shown_;  // of entries_, best first
  QLineEdit* line_;
  QListView* list_;
  QStandardItemModel* model_;
};

/// How well `text` answers to what was typed: all of its letters, in their order and whatever
/// their case; letters that begin or end words and that stand together count for more. 0: not at
/// all.
int matchScore(const QString& typed, const QString& text);

}  // namespace lockstep::ui
