#pragma once

#include <QWidget>

class QLabel;
class QListView;
class QToolButton;

namespace lockstep::ui {

class RunQueue;
class ViewOrEmpty;

/// The files of a queue, which can be moved and taken out. [ui-thread]
class RunQueueList : public QWidget {
  Q_OBJECT

 public:
  /// `queue` outlives the list.
  explicit RunQueueList(RunQueue& queue, QWidget* parent = nullptr);

 private:
  void moveBy(int by);
  void refresh();

  RunQueue& queue_;
  QListView* view_;
  ViewOrEmpty* page_ = nullptr;
  QLabel* reason_;
  QToolButton* goOn_ = nullptr;
  QToolButton* up_ = nullptr;
  QToolButton* down_ = nullptr;
  QToolButton* remove_ = nullptr;
  QToolButton* clear_ = nullptr;
};

}  // namespace lockstep::ui
