#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/analysis/SortedValues.h"

namespace lockstep::analysis {

/// Durations of one sort, in ms. Quantiles are interpolated between the nearest two, as numpy
/// does by default.
struct Durations {
  SortedValues values;
  double mean = 0;
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0;
  double max = 0;

  [[nodiscard]] std::size_t count() const { return values.size(); }
};

/// Values that become more, of which durationsIn() is asked again and again: none as yet.
SortedValues growingDurations();

/// Measures; all are 0 of none.
Durations durationsIn(SortedValues ms);
Durations durationsOf(std::vector<double> ms);

/// How many of the durations fall into each of equal parts of from..to, the upper end of the last
/// in it.
struct Histogram {
  double from = 0;
  double to = 0;
  std::vector<std::uint32_t> counts;
  std::uint32_t beyond = 0;  ///< above `to`
};
Histogram histogram(const Durations& durations, double from, double to, std::size_t bins);

}  // namespace lockstep::analysis
