#include "engine/simulate/ParetoTail.h"

#include <algorithm>
#include <cmath>

namespace lockstep::simulate {

double ParetoTail::value(double above) const {
  constexpr double kNoShape = 1e-9;
  const double excess =
      std::abs(shape) < kNoShape ? -std::log(above) : (std::pow(above, -shape) - 1) / shape;
  return threshold + scale * excess;
}

std::optional<ParetoTail> ParetoTail::fit(std::vector<double> values) {
  const auto count = static_cast<double>(values.size());
  const auto excesses = static_cast<std::size_t>(std::round(kTailPart * count));
  if (excesses < kFewestExcesses) {
    return std::nullopt;
  }
  std::sort(values.begin(), values.end());
  const std::size_t first = values.size() - excesses;
  const auto n = static_cast<double>(excesses);
  // Halfway to the value below: the smallest excess is not 0, which it would be by definition.
  const double threshold = (values[first - 1] + values[first]) / 2;
  double mean = 0;
  double weighted = 0;
  for (std::size_t j = 0; j < excesses; ++j) {
    const double excess = values[first + j] - threshold;
    mean += excess / n;
    weighted += (1 - (static_cast<double>(j + 1) - 0.35) / n) * excess / n;
  }
  const double apart = mean - 2 * weighted;
  if (!(mean > 0) || !(apart > 0)) {
    return std::nullopt;
  }
  ParetoTail tail{threshold, n / count, 0, 2 - mean / apart, excesses};
  tail.shape = std::clamp(tail.shape, -1.0, 0.5);
  // Of the mean, which is scale / (1 - shape): the same as above where the shape was not held.
  tail.scale = mean * (1 - tail.shape);
  return tail;
}

}  // namespace lockstep::simulate
