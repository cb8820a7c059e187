#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

namespace lockstep::process_group {

/// One rank's link: when each direction is free again, and a thread that ends transfers on time.
/// The groups of a rank share it, so that their transfers queue one after the other.
/// Times are CLOCK_MONOTONIC in ns. [any-thread]
class LinkClock {
 public:
  LinkClock();
  /// Calls at once what is still due, then ends the thread. May run on that thread.
  ~LinkClock();
  LinkClock(const LinkClock&) = delete;
  LinkClock& operator=(const LinkClock&) = delete;

  enum class Direction { kOut, kIn, kBoth };

  /// Takes the link for `durationNs` from `notBeforeNs` on, or from when it is free if that is
  /// later; returns the end.
  std::int64_t take(Direction direction, std::int64_t notBeforeNs, std::int64_t durationNs);

  /// Calls `function` on the link's thread at `dueNs`, as near as the kernel wakes it. Functions
  /// of one time are called in the order of these calls.
  void callAt(std::int64_t dueNs, std::function<void()> function);

 private:
  struct State;
  static void work(State& state);

  const std::shared_ptr<State> state_;  // shared with the thread
  std::thread thread_;
};

}  // namespace lockstep::process_group
