#include "engine/base/Scale.h"

#include <algorithm>
#include <cmath>

namespace lockstep::base {
namespace {

// So that a multiple of a step counts as one after rounding.
constexpr double kRounding = 1e-9;

}  // namespace

std::vector<double> Scale::ticks(double step) const {
  std::vector<double> ticks;
  const double last = std::floor(to / step + kRounding);
  // By number and not by adding up, so that rounding does not grow along the axis.
  for (double number = std::ceil(from / step - kRounding); number <= last; ++number) {
    ticks.push_back(number * step + 0.0);  // no -0
    if (number + 1 == number) {
      break;  // so large that the next number is beyond a double
    }
  }
  return ticks;
}

double roundStep(double least) {
  if (!(least > 0)) {
    return 1;
  }
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - kRounding)) {
      return factor * power;
    }
  }
  return 10 * power;
}

double roundStep(double length, int wanted) {
  return roundStep(length / std::max(1, wanted));
}

int decimalsOf(double step) {
  return step <= 0 ? 0
                   : std::clamp(static_cast<int>(std::ceil(-std::log10(step) - kRounding)), 0, 6);
}

}  // namespace lockstep::base
