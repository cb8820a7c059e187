#include "engine/cost/Sample.h"

#include <algorithm>
#include <cmath>
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

double middle(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
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

std::vector<std::size_t> drawBlocks(std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> drawn;
  if (count == 0) {
    return drawn;
  }
  const auto length = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  while (drawn.size() < count) {
    // Not by std::uniform_int_distribution, which may draw other numbers with another library. The
    // bias of the remainder is below count / 2^64.
    const std::size_t first = random() % (count - length + 1);
    for (std::size_t i = 0; i < length && drawn.size() < count; ++i) {
      drawn.push_back(first + i);
    }
  }
  return drawn;
}

}  // namespace lockstep::cost
