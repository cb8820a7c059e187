#include "engine/analysis/Durations.h"

#include <algorithm>
#include <utility>

namespace lockstep::analysis {

SortedValues growingDurations() {
  return SortedValues::marking({0.50, 0.90, 0.95, 0.99});
}

Durations durationsIn(SortedValues ms) {
  Durations durations;
  durations.values = std::move(ms);
  const SortedValues& values = durations.values;
  if (values.size() == 0) {
    return durations;
  }
  durations.mean = values.sum() / static_cast<double>(values.size());
  durations.p50 = values.quantile(0.50);
  durations.p90 = values.quantile(0.90);
  durations.p95 = values.quantile(0.95);
  durations.p99 = values.quantile(0.99);
  durations.max = values.greatest();
  return durations;
}

Durations durationsOf(std::vector<double> ms) {
  SortedValues values;
  values.add(std::move(ms));
  return durationsIn(std::move(values));
}

Histogram histogram(const Durations& durations, double from, double to, std::size_t bins) {
  Histogram result{from, to, std::vector<std::uint32_t>(bins), 0};
  if (bins == 0 || !(to > from)) {
    return result;
  }
  const auto binOf = [&](double value) {
    // `to` itself would be in the bin after the last.
    const double part = (value - from) / (to - from);
    return std::min(static_cast<std::size_t>(part * static_cast<double>(bins)), bins - 1);
  };
  // The values are sorted: each bin ends where a search says so.
  const SortedValues& values = durations.values;
  std::size_t begin = values.count([from](double value) { return value < from; });
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t end = values.count(
        [&](double value) { return value < from || (value <= to && binOf(value) <= bin); });
    result.counts[bin] = static_cast<std::uint32_t>(end - begin);
    begin = end;
  }
  result.beyond = static_cast<std::uint32_t>(values.size() - begin);
  return result;
}

}  // namespace lockstep::analysis
