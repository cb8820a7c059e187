#include "engine/simulate/ScalingText.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/NumberText.h"

namespace lockstep::simulate {
namespace {

constexpr double kPercent = 100;

std::string aboutRanks(double ranks) {
  return base::countText(static_cast<std::uint64_t>(std::llround(ranks)));
}

/// "64 to 210", or "64 or more".
std::string betweenText(const BreakingPoint& point, int least) {
  const std::string low = aboutRanks(point.low.value_or(least));
  return point.high ? low + " to " + aboutRanks(*point.high) : low + " or more";
}

}  // namespace

std::string efficiencyText(const cost::Estimate& efficiency) {
  return base::percentRangeText(kPercent * efficiency.value, kPercent * efficiency.low,
                                kPercent * efficiency.high);
}

std::string breakingText(const BreakingPoint& point, const std::vector<RanksForecast>& rows) {
  const std::string bound = base::percentText(kPercent * point.efficiency, 0);
  if (!point.ranks) {
    return fmt::format("Efficiency stays at {} or more up to {} ranks{}.", bound,
                       aboutRanks(rows.back().ranks),
                       point.low ? fmt::format("; by the low end of its interval it may fall below "
                                               "that from {} ranks on",
                                               aboutRanks(*point.low))
                                 : "");
  }
  if (*point.ranks <= rows.front().ranks) {
    return fmt::format("Efficiency is below {} on the {} recorded ranks already.", bound,
                       rows.front().ranks);
  }
  return fmt::format("Efficiency falls below {} from about {} ranks on ({}), by {}.", bound,
                     aboutRanks(*point.ranks), betweenText(point, rows.front().ranks),
                     name(point.bound));
}

std::string tailText(const Scaling& scaling, const std::vector<RanksForecast>& rows) {
  const auto beyond = std::find_if(rows.begin(), rows.end(),
                                   [](const RanksForecast& row) { return row.beyondSample; });
  if (beyond == rows.end()) {
    return "";
  }
  const std::size_t sample = scaling.recorded().own.size();
  const auto& tail = scaling.noise().tail;
  if (!tail) {
    return fmt::format(
        "From {} ranks on a step has more ranks than the recording has steps of ranks, {}: too few "
        "for a tail, so that no rank is simulated later than the latest that was recorded.",
        aboutRanks(beyond->ranks), sample);
  }
  return fmt::format(
      "From {} ranks on a step has more ranks than the recording has steps of ranks, {}: how late "
      "its last rank comes is extrapolated by a tail that was fitted to the {} latest of them "
      "(generalised Pareto, scale {}, shape {}{:.2f}).",
      aboutRanks(beyond->ranks), sample, tail->excesses, base::durationText(tail->scale),
      tail->shape < 0 ? "\u2212" : "", std::abs(tail->shape));
}

}  // namespace lockstep::simulate
