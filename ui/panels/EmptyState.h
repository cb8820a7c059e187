#pragma once

#include <QString>
#include <QWidget>

class QLabel;
class QPushButton;
class QStackedLayout;

namespace lockstep::ui {

/// Stands in the place of a view that has nothing to show: the first sentence as a heading, below
/// it what will be here and what to do about it, and a button that does it. [ui-thread]
class EmptyState : public QWidget {
  Q_OBJECT

 public:
  /// An empty `button` leaves the words alone.
  EmptyState(const QString& sentence, const QString& button, QWidget* parent = nullptr);

  void setSentence(const QString& sentence);
  /// Whether there is a button, of one that was made with it.
  void setOffered(bool offered);

 signals:
  void activated();

 private:
  QLabel* heading_ = nullptr;
  QLabel* more_ = nullptr;
  QPushButton* button_ = nullptr;
};

/// Shows `empty` in the place of `view` while there is nothing to view. Takes both as children.
class ViewOrEmpty : public QWidget {
 public:
  ViewOrEmpty(QWidget* view, QWidget* empty, QWidget* parent = nullptr);

  void setEmpty(bool empty);

 private:
  QStackedLayout* stack_ = nullptr;
};

}  // namespace lockstep::ui
