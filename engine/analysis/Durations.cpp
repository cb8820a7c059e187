#include "engine/analysis/Durations.h"

#include <algorithm>
#include <utility>

#include "engine/cost/Sample.h"

namespace lockstep::analysis {

Durations durationsOf(std::vector<double> ms) {
  Durations durations;
  std::sort(ms.begin(), ms.end());
  durations.sorted = std::move(ms);
  const std::vector<double>& sorted = durations.sorted;
  if (sorted.empty()) {
    return durations;
  }
  double sum = 0;
  for (const double value : sorted) {
    sum += value;
  }
  durations.mean = sum / static_cast<double>(sorted.size());
  durations.p50 = cost::sortedQuantile(sorted, 0.50);
  durations.p90 = cost::sortedQuantile(sorted, 0.90);
  durations.p95 = cost::sortedQuantile(sorted, 0.95);
  durations.p99 = cost::sortedQuantile(sorted, 0.99);
  durations.max = sorted.back();
  return durations;
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
  auto begin = std::lower_bound(durations.sorted.begin(), durations.sorted.end(), from);
  const auto last = std::upper_bound(begin, durations.sorted.end(), to);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const auto end =
        std::partition_point(begin, last, [&](double value) { return binOf(value) <= bin; });
    result.counts[bin] = static_cast<std::uint32_t>(end - begin);
    begin = end;
  }
  result.beyond = static_cast<std::uint32_t>(durations.sorted.end() - last);
  return result;
}

}  // namespace lockstep::analysis
