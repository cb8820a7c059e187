#include "engine/store/detail/WatchQueue.h"

#include <utility>

#include "engine/base/Check.h"
#include "engine/base/Log.h"
#include "engine/base/Thread.h"
#include "engine/store/detail/Errors.h"

namespace lockstep::store::detail {

void tellOfChange(const std::string& place, const std::string& key,
                  const Store::WatchCallback& callback, const std::optional<std::string>& before,
                  const std::optional<std::string>& after) {
  try {
    callback(before, after);
  } catch (const std::exception& error) {
    base::logError("{}: the callback that watches {} has thrown: {}", place, quoted({key}),
                   error.what());
  } catch (...) {
    base::logError("{}: the callback that watches {} has thrown", place, quoted({key}));
  }
}

WatchQueue::WatchQueue(std::string place) : place_(std::move(place)), thread_([this] { run(); }) {}

WatchQueue::~WatchQueue() {
  LOCKSTEP_CHECK(std::this_thread::get_id() != thread_.get_id(),
                 "{}: a watching callback destroys the store that calls it", place_);
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void WatchQueue::watch(const std::string& key, Store::WatchCallback callback) {
  std::lock_guard lock(mutex_);
  callbacks_[key].push_back(std::make_shared<const Store::WatchCallback>(std::move(callback)));
}

bool WatchQueue::watches(const std::string& key) const {
  std::lock_guard lock(mutex_);
  return callbacks_.contains(key);
}

void WatchQueue::changed(const std::string& key, std::optional<std::string> before,
                         std::optional<std::string> after) {
  {
    std::lock_guard lock(mutex_);
    const auto found = callbacks_.find(key);
    if (found == callbacks_.end()) {
      return;
    }
    changes_.push_back({key, std::move(before), std::move(after), found->second});
  }
  wake_.notify_one();
}

void WatchQueue::run() {
  base::nameThisThread("store-watch");
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ending_ || !changes_.empty(); });
    if (ending_) {
      return;
    }
    const Change change = std::move(changes_.front());
    changes_.pop_front();
    // The list was copied with the change: a callback that was added later is not called for it.
    for (const Callback& callback : change.callbacks) {
      if (ending_) {
        return;
      }
      // A callback may use the store. Its mutex is taken before this one when it reports a change,
      // and so must not be taken after it here.
      lock.unlock();
      tellOfChange(place_, change.key, *callback, change.before, change.after);
      lock.lock();
    }
  }
}

}  // namespace lockstep::store::detail
