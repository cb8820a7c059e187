#include "ui/panels/setup/RunQueueList.h"

#include <QAction>
#include <QItemSelectionModel>
#include <QListView>

#include "ui/panels/EmptyState.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/setup/RunQueue.h"

namespace lockstep::ui {

RunQueueList::RunQueueList(RunQueue& queue, QWidget* parent)
    : QWidget(parent),
      queue_(queue),
      view_(named(new QListView, "runQueue", tr("Experiments that wait for their turn"))),
      reason_(wrapped({}, "queueReason")) {
  view_->setModel(&queue);
  const auto add = [&](const QString& text, const QString& tip, const char* name, auto action) {
    auto* button = toolButton(text, tip, name);
    connect(button, &QToolButton::clicked, this, action);
    return button;
  };
  up_ = add(tr("Up"), tr("Starts it before the one above"), "queueUp", [this] { moveBy(-1); });
  down_ = add(tr("Down"), tr("Starts it after the one below"), "queueDown", [this] { moveBy(1); });
  remove_ = add(tr("Remove"), tr("Takes it out of the queue; the file stays"), "queueRemove",
                [this] { queue_.removeAt(view_->currentIndex().row()); });
  goOn_ =
      add(tr("Go on"), tr("Starts the first one again"), "queueGoOn", [this] { queue_.goOn(); });
  clear_ =
      add(tr("Clear"), tr("Takes all out of the queue"), "queueClear", [this] { queue_.clear(); });
  // Delete works with the focus in the list alone: in the form beside it the key deletes letters.
  // It clicks the button, so that it does nothing where that is disabled.
  auto* removeKey = new QAction(tr("Remove"), view_);
  removeKey->setShortcut(QKeySequence::Delete);
  removeKey->setShortcutContext(Qt::WidgetShortcut);
  connect(removeKey, &QAction::triggered, remove_, &QToolButton::click);
  view_->addAction(removeKey);
  page_ = new ViewOrEmpty(view_, new EmptyState(tr("Nothing waits. An experiment that is queued "
                                                   "starts when the current run has ended."),
                                                QString()));
  fill(this,
       inColumn({{page_, 1}, reason_, inRow({up_, down_, remove_, Part::rest(), goOn_, clear_})}),
       {4, 4, 4, 4});
  for (auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved}) {
    connect(&queue, signal, this, &RunQueueList::refresh);
  }
  connect(&queue, &QAbstractItemModel::rowsMoved, this, &RunQueueList::refresh);
  connect(&queue, &QAbstractItemModel::modelReset, this, &RunQueueList::refresh);
  connect(&queue, &RunQueue::reasonToWaitChanged, this, &RunQueueList::refresh);
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          &RunQueueList::refresh);
  refresh();
}

void RunQueueList::moveBy(int by) {
  const int row = view_->currentIndex().row();
  queue_.move(row, by);
}

void RunQueueList::refresh() {
  const int row = view_->currentIndex().row();
  const int last = queue_.rowCount() - 1;
  up_->setEnabled(row > 0);
  down_->setEnabled(row >= 0 && row < last);
  remove_->setEnabled(row >= 0);
  clear_->setEnabled(last >= 0);
  page_->setEmpty(last < 0);
  const QString& reason = queue_.reasonToWait();
  reason_->setText(tr("The first one could not be started: %1").arg(reason));
  // Only a queue that has stopped can go on: else the end of each run starts the next by itself.
  reason_->setVisible(!reason.isEmpty());
  goOn_->setVisible(!reason.isEmpty());
}

}  // namespace lockstep::ui
