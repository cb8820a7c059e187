#include "engine/cost/Estimate.h"

#include <algorithm>
#include <cmath>

#include "engine/cost/Sample.h"

namespace lockstep::cost {

Estimate estimateOf(double value, const std::vector<double>& drawn, const Doubt& doubt) {
  // Below and above reach from the forecast, and not from the middle of the draws: those may lie to
  // one side of it, and then one of the two is 0. Where the forecast is n times what the replay of
  // the own buckets came to, that replay's miss counts n times.
  const double wider = std::hypot(doubt.missed * std::max(1.0, value / doubt.replayed), doubt.drift,
                                  doubt.runsDiffer);
  const double below = std::max(value - quantile(drawn, 0.05), 0.0);
  const double above = std::max(quantile(drawn, 0.95) - value, 0.0);
  return {value, std::max(value - std::hypot(below, wider), 0.0), value + std::hypot(above, wider)};
}

}  // namespace lockstep::cost
