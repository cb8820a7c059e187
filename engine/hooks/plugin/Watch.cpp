#include "engine/hooks/plugin/Watch.h"

#include <algorithm>
#include <utility>

#include "engine/base/Thread.h"

namespace lockstep::hooks {

Watch::Watch(int ranks, std::chrono::milliseconds limit, Stuck stuck)
    : limit_(limit), stuck_(std::move(stuck)), tasks_(static_cast<std::size_t>(ranks)) {
  thread_ = std::thread([this] {
    base::nameThisThread("watch");
    work();
  });
}

Watch::~Watch() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::begin(int rank, std::string what) {
  {
    std::lock_guard lock(mutex_);
    tasks_.at(static_cast<std::size_t>(rank)) = {std::move(what), Clock::now() + limit_};
  }
  changed_.notify_all();
}

std::string Watch::end(int rank) {
  std::lock_guard lock(mutex_);
  return std::exchange(tasks_.at(static_cast<std::size_t>(rank)), {}).what;
}

Watch::Doing::Doing(Watch& watch, int rank, std::string what) : watch_(watch), rank_(rank) {
  watch_.begin(rank_, std::move(what));
}

Watch::Doing::~Doing() {
  watch_.end(rank_);
}

void Watch::work() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    const auto next =
        std::min_element(tasks_.begin(), tasks_.end(),
                         [](const Task& a, const Task& b) { return a.deadline < b.deadline; });
    const auto deadline = next->deadline;
    if (deadline <= Clock::now()) {
      const auto rank = static_cast<int>(next - tasks_.begin());
      const std::string what = next->what;
      lock.unlock();
      // Without the lock and once: who hears of it ends the process.
      stuck_(rank, what);
      return;
    }
    if (deadline == Clock::time_point::max()) {
      // No rank is in a call: begin() wakes this.
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, deadline);
    }
  }
}

}  // namespace lockstep::hooks
