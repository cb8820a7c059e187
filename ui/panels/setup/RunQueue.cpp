#include "ui/panels/setup/RunQueue.h"

#include <QFileInfo>
#include <QTimer>

namespace lockstep::ui {

// Note [Whose turn it is]
//
// The queue knows no processes: it asks for a start and hears of an end. `running_` is true in
// between, and also during runs that the window started by itself.
//
//             add, runEnded, goOn
//   waiting ─────────────────────▶ startRequested(first file), running_
//      ▲                              │ runEnded                 │ putBack(file, reason)
//      └──────────────────────────────┘                          ▼
//                                       the file is the first again, and nothing starts
//                                       until goOn: the next would likely fail the same way
//
// A file leaves the list when it is asked for: putBack may come before startRequested has returned.
RunQueue::RunQueue(QObject* parent) : QAbstractListModel(parent) {}

void RunQueue::add(const QString& tomlPath) {
  const int row = static_cast<int>(files_.size());
  beginInsertRows({}, row, row);
  files_ << tomlPath;
  endInsertRows();
  startNext();
}

void RunQueue::removeAt(int row) {
  if (row < 0 || row >= files_.size()) {
    return;
  }
  beginRemoveRows({}, row, row);
  files_.removeAt(row);
  endRemoveRows();
  if (files_.isEmpty()) {
    setReasonToWait(QString());
  }
}

void RunQueue::move(int row, int by) {
  const int to = row + by;
  if (row < 0 || row >= files_.size() || to < 0 || to >= files_.size() || by == 0) {
    return;
  }
  beginMoveRows({}, row, row, {}, by > 0 ? to + 1 : to);
  files_.move(row, to);
  endMoveRows();
}

void RunQueue::clear() {
  beginResetModel();
  files_.clear();
  endResetModel();
  setReasonToWait(QString());
}

void RunQueue::putBack(const QString& tomlPath, const QString& reason) {
  beginInsertRows({}, 0, 0);
  files_.prepend(tomlPath);
  endInsertRows();
  running_ = false;
  setReasonToWait(reason);
}

void RunQueue::goOn() {
  setReasonToWait(QString());
  startNext();
}

void RunQueue::setReasonToWait(const QString& reason) {
  if (reason != reasonToWait_) {
    reasonToWait_ = reason;
    emit reasonToWaitChanged();
  }
}

int RunQueue::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(files_.size());
}

QVariant RunQueue::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= files_.size()) {
    return {};
  }
  const QString& file = files_[index.row()];
  return role == Qt::DisplayRole   ? QVariant(QFileInfo(file).completeBaseName())
         : role == Qt::ToolTipRole ? QVariant(file)
                                   : QVariant();
}

void RunQueue::runStarted() {
  running_ = true;
}

void RunQueue::runEnded() {
  running_ = false;
  // Not from within the window's own handling of the end.
  QTimer::singleShot(0, this, &RunQueue::startNext);
}

void RunQueue::startNext() {
  if (running_ || files_.isEmpty() || !reasonToWait_.isEmpty()) {
    return;
  }
  const QString file = files_.first();
  removeAt(0);
  running_ = true;
  emit startRequested(file);
}

}  // namespace lockstep::ui
