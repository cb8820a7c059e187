#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ui/chart/TimeAxis.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

// Which values of a counter count when: one that is taken holds until the next, the mean of an
// interval (`overInterval`) reaches back to the value before. None before the first, none after
// the last. All [ui-thread].

/// Neighbours in a series.
struct CounterValues {
  std::size_t first = 0;
  std::size_t last = 0;  ///< one past the last

  [[nodiscard]] bool empty() const { return first >= last; }
  bool operator==(const CounterValues&) const = default;
};

/// The values that count somewhere after `fromTicks` up to `toTicks`.
CounterValues counterValuesIn(const CounterSeries& series, bool overInterval,
                              std::uint64_t fromTicks, std::uint64_t toTicks);

/// Columns of pixels, side by side, in which a counter has the same extremes.
struct CounterColumns {
  double left = 0;
  double right = 0;
  double minimum = 0;
  double maximum = 0;
};

/// The columns of `axis` over which a counter has values, from left to right: from its first to
/// its last value. The cost grows with the columns and the logarithm of the values.
std::vector<CounterColumns> counterColumns(const RunModel& model, const CounterSeries& series,
                                           bool overInterval, const TimeAxis& axis);

/// The value that counts at a time; series.size() before the first and after the last.
std::size_t counterValueAt(const RunModel& model, const CounterSeries& series, bool overInterval,
                           double ns);

/// The time for which a value counts: from its own to the next, or from the one before to its own.
TimeRange timeOfValue(const RunModel& model, const CounterSeries& series, bool overInterval,
                      std::size_t index);

}  // namespace lockstep::ui
