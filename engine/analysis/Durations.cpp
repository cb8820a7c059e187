#include "engine/analysis/Durations.h"

#include <algorithm>
#include <utility>

namespace lockstep::analysis {

double quantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) {
    return 0;
  }
  const double at = std::clamp(part, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

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
  durations.p50 = quantile(sorted, 0.50);
  durations.p90 = quantile(sorted, 0.90);
  durations.p95 = quantile(sorted, 0.95);
  durations.p99 = quantile(sorted, 0.99);
  durations.max = sorted.back();
  return durations;
}

Histogram histogram(const Durations& durations, double from, double to, std::size_t bins) {
  Histogram result{from, to, std::vector<std::uint32_t>(bins), 0};
  if (bins == 0 || !(to > from)) {
    return result;
  }
  for (const double value : durations.sorted) {
    if (value > to) {
      result.beyond += 1;
    } else if (value >= from) {
      const auto bin =
          static_cast<std::size_t>((value - from) / (to - from) * static_cast<double>(bins));
      result.counts[std::min(bin, bins - 1)] += 1;
    }
  }
  return result;
}

}  // namespace lockstep::analysis
