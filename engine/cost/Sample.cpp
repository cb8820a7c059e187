#include "engine/cost/Sample.h"

#include <algorithm>
#include <utility>

namespace lockstep::cost {

double sortedQuantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) {
    return 0;
  }
  const double at = std::clamp(part, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return sortedQuantile(values, part);
}

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double weightedMiddle(std::vector<Weighted> values) {
  std::sort(values.begin(), values.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double all = 0;
  for (const Weighted& one : values) {
    all += one.weight;
  }
  double sum = 0;
  for (const Weighted& one : values) {
    sum += one.weight;
    if (2 * sum >= all) {
      return one.value;
    }
  }
  return 0;
}

}  // namespace lockstep::cost
