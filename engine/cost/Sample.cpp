#include "engine/cost/Sample.h"

#include <algorithm>
#include <cmath>

namespace lockstep::cost {

double quantile(std::vector<double> values, double part) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const double at = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - std::floor(at)) * (values[above] - values[below]);
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
    const std::size_t first = random() % (count - length + 1);
    for (std::size_t i = 0; i < length && drawn.size() < count; ++i) {
      drawn.push_back(first + i);
    }
  }
  return drawn;
}

}  // namespace lockstep::cost
