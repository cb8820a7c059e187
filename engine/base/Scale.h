#pragma once

#include <vector>

// Round numbers along an axis, the same in the studio (ui/chart) and in a report.
namespace lockstep::base {

/// Values along a stretch of pixels, upwards where `end` lies above `start`.
struct Scale {
  double from = 0;  ///< the values at both ends
  double to = 1;
  double start = 0;  ///< the pixels at which these lie
  double end = 1;

  [[nodiscard]] double at(double value) const {
    return start + (value - from) / (to - from) * (end - start);
  }
  [[nodiscard]] double valueAt(double pixel) const {
    return from + (pixel - start) / (end - start) * (to - from);
  }
  /// The multiples of `step` on it.
  [[nodiscard]] std::vector<double> ticks(double step) const;
};

/// The distance between the ticks of an axis: the smallest of 1, 2 or 5 times a power of ten that
/// is not below `least`; 1 where that is no distance.
double roundStep(double least);

/// The same for about `wanted` ticks over `length`.
double roundStep(double length, int wanted);

/// As many decimals as tell a value from its neighbours `step` away: 0.05 has 2, 20 has none.
int decimalsOf(double step);

}  // namespace lockstep::base
