#include "engine/process_group/shaped/LinkClock.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/Thread.h"

namespace lockstep::process_group {

struct LinkClock::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t outFreeNs = 0;
  std::int64_t inFreeNs = 0;
  std::multimap<std::int64_t, std::function<void()>> due;
  bool ending = false;
};

LinkClock::LinkClock()
    : state_(std::make_shared<State>()), thread_([state = state_] { work(*state); }) {}

LinkClock::~LinkClock() {
  {
    std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_one();
  // What a function held may have been the last to hold this.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

std::int64_t LinkClock::take(Direction direction, std::int64_t notBeforeNs,
                             std::int64_t durationNs) {
  State& state = *state_;
  std::lock_guard lock(state.mutex);
  // Both directions are taken together by a collective, each alone by a message.
  std::int64_t start = notBeforeNs;
  if (direction != Direction::kIn) {
    start = std::max(start, state.outFreeNs);
  }
  if (direction != Direction::kOut) {
    start = std::max(start, state.inFreeNs);
  }
  const std::int64_t end = start + durationNs;
  if (direction != Direction::kIn) {
    state.outFreeNs = end;
  }
  if (direction != Direction::kOut) {
    state.inFreeNs = end;
  }
  return end;
}

void LinkClock::callAt(std::int64_t dueNs, std::function<void()> function) {
  bool first = false;
  {
    std::lock_guard lock(state_->mutex);
    const auto entry = state_->due.emplace(dueNs, std::move(function));
    first = entry == state_->due.begin();
  }
  // A thread that waits for a later end sleeps too long now.
  if (first) {
    state_->changed.notify_one();
  }
}

void LinkClock::work(State& state) {
  base::nameThisThread("shaped link");
  // The kernel may wake a thread 50 us late to save power; a link must not.
  prctl(PR_SET_TIMERSLACK, 1);
  std::unique_lock lock(state.mutex);
  for (;;) {
    // What is due is called before the thread ends, late or early: works wait for it.
    if (state.due.empty()) {
      if (state.ending) {
        return;
      }
      state.changed.wait(lock);
      continue;
    }
    const std::int64_t next = state.due.begin()->first;
    if (!state.ending && base::monotonicNs() < next) {
      // steady_clock is CLOCK_MONOTONIC.
      state.changed.wait_until(
          lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next)));
      continue;
    }
    auto function = std::move(state.due.begin()->second);
    state.due.erase(state.due.begin());
    lock.unlock();
    function();
    function = nullptr;  // what it holds may end here, not under the lock
    lock.lock();
  }
}

}  // namespace lockstep::process_group
