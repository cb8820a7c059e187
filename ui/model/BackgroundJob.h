#pragma once

#include <QCoreApplication>
#include <QObject>
#include <QPointer>
#include <cstdint>
#include <functional>
#include <utility>

class QThreadPool;

namespace lockstep::ui {

/// Threads for what takes long: reading, analysing, searching. Not Qt's own pool: painting hands
/// parts of its work to that one, and would have to wait until what is there already is done. It
/// ends with the application, and waits for what was started. Given out for tests; the studio uses
/// the functions below. [ui-thread]
QThreadPool& backgroundPool();

/// Has `work` done on a thread of that pool. [ui-thread]
void startInBackground(std::function<void()> work);

/// Has `act` called on the UI thread, soon, unless `owner` is gone by then. [any-thread]
template <typename Owner, typename Act>
void onUiThread(const QPointer<Owner>& owner, Act act) {
  QMetaObject::invokeMethod(
      QCoreApplication::instance(),
      [owner, act = std::move(act)]() mutable {
        if (owner) {
          act();
        }
      },
      Qt::QueuedConnection);
}

/// Does `work` on a thread of the pool and hands what it returns to `take` on the UI thread, unless
/// `owner` is gone by then. [ui-thread]
template <typename Work, typename Take>
void inBackground(QObject* owner, Work work, Take take) {
  startInBackground(
      [owner = QPointer<QObject>(owner), work = std::move(work), take = std::move(take)]() mutable {
        onUiThread(owner, [take, result = work()]() mutable { take(std::move(result)); });
      });
}

/// Work of which only the latest counts: what an earlier start brings is dropped. A member of its
/// owner. [ui-thread]
class BackgroundJob {
 public:
  explicit BackgroundJob(QObject* owner) : owner_(owner) {}

  template <typename Work, typename Take>
  void start(Work work, Take take) {
    busy_ = true;
    inBackground(owner_, std::move(work),
                 [this, ticket = ++ticket_, take = std::move(take)](auto result) mutable {
                   if (ticket == ticket_) {
                     busy_ = false;
                     take(std::move(result));
                   }
                 });
  }

  /// What is under way goes on, but its result is dropped.
  void drop() {
    ++ticket_;
    busy_ = false;
  }

  /// Says whether an answer is still awaited.
  [[nodiscard]] bool busy() const { return busy_; }

 private:
  QObject* owner_;
  std::uint64_t ticket_ = 0;
  bool busy_ = false;
};

}  // namespace lockstep::ui
