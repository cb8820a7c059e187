#pragma once

#include <algorithm>
#include <chrono>

namespace lockstep::store::detail {

/// A point in time that a wait ends at; time limits beyond 20 days are taken as 20 days, so
/// that none overflows what poll() takes.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  explicit Deadline(Milliseconds limit) : at_(Clock::now() + clamped(limit)) {}

  [[nodiscard]] Clock::time_point at() const { return at_; }
  [[nodiscard]] bool passed() const { return Clock::now() >= at_; }

  /// Returns what is left, rounded up, never negative.
  [[nodiscard]] Milliseconds left() const {
    return std::max(Milliseconds(0), std::chrono::ceil<Milliseconds>(at_ - Clock::now()));
  }

  static Milliseconds clamped(Milliseconds limit) {
    return std::clamp<Milliseconds>(limit, Milliseconds(0), std::chrono::hours(24 * 20));
  }

 private:
  Clock::time_point at_;
};

}  // namespace lockstep::store::detail
