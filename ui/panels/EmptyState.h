#pragma once

#include <QString>
#include <QWidget>

class QAbstractItemModel;
class QLabel;
class QPushButton;
class QStackedLayout;

namespace lockstep::ui {

/// Shows a sentence and a button in the place of a view that has nothing to show.
/// [ui-thread]
class EmptyState : public QWidget {
  Q_OBJECT

 public:
  /// An empty `button` leaves the sentence alone.
  EmptyState(const QString& sentence, const QString& button, QWidget* parent = nullptr);

  void setSentence(const QString& sentence);

 signals:
  void activated();

 private:
  QLabel* sentence_ = nullptr;
};

/// Shows `view` while `model` has rows and `empty` while it has none. Takes both as children.
class ViewOrEmpty : public QWidget {
  Q_OBJECT

 public:
  ViewOrEmpty(QWidget* view, const QAbstractItemModel* model, QWidget* empty,
              QWidget* parent = nullptr);

 private:
  void update(const QAbstractItemModel* model);

  QStackedLayout* stack_ = nullptr;
};

}  // namespace lockstep::ui
