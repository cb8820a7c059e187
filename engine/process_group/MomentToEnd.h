#pragma once

#include <chrono>

namespace lockstep::process_group {

/// How long a group that breaks lets collectives end that were called before: until none of them
/// has ended, nor moved where the backend sees that, for half a second. Other ranks may have ended
/// them, or wait for this one's part; on a machine that is busy each takes its time. Of the steady
/// clock. [under the group's mutex]
class MomentToEnd {
 public:
  using Clock = std::chrono::steady_clock;

  void begin() { until_ = Clock::now() + kWithoutEnd; }
  /// One of them has ended well, or something of theirs has moved.
  void renew() {
    if (until_ != Clock::time_point{}) {
      begin();
    }
  }
  /// There is nothing to wait for.
  void skip() { until_ = {}; }
  /// Of a group that breaks.
  [[nodiscard]] bool over(Clock::time_point now) const { return now >= until_; }

 private:
  static constexpr std::chrono::milliseconds kWithoutEnd{500};
  Clock::time_point until_{};
};

}  // namespace lockstep::process_group
