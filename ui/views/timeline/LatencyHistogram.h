#pragma once

#include <array>
#include <cstdint>

namespace lockstep::ui {

/// Durations in buckets that grow by a quarter octave, from 0.1 ms to 100 s: fixed memory,
/// percentiles within 9 %.
class LatencyHistogram {
 public:
  void add(double ms);
  void clear();
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The duration that `fraction` (0..1) of all stay within; 0 when there are none.
  [[nodiscard]] double percentileMs(double fraction) const;
  [[nodiscard]] double p95Ms() const { return percentileMs(0.95); }
  [[nodiscard]] double maximumMs() const { return maximum_; }

 private:
  static constexpr int kBuckets = 82;
  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  double maximum_ = 0;
};

}  // namespace lockstep::ui
