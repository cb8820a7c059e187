#pragma once

#include <chrono>
#include <cstdint>

namespace lockstep::trace {

/// How long a recorder waits between two passes over the rings. A pass takes a core from a rank
/// where every core has one, and its cache; so where little is emitted it waits for more, and where
/// much is, or a ring would fill up meanwhile, it comes as often as it was told. [recorder thread]
class RecorderPace {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr std::uint64_t kEventsAPass = 2'000;
  static constexpr double kFillAPass = 0.125;  ///< of a ring
  static constexpr int kSlowest = 5;           ///< times what was told

  explicit RecorderPace(Duration shortest) : shortest_(shortest), wait_(shortest) {}

  [[nodiscard]] Duration wait() const { return wait_; }

  /// Says what a pass has found: events, and how full the fullest ring was (0..1), since the pass
  /// before, `since` ago.
  void passed(Duration since, std::uint64_t events, double fill);

 private:
  Duration shortest_;
  Duration wait_;
};

}  // namespace lockstep::trace
