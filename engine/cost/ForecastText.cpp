#include "engine/cost/ForecastText.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace lockstep::cost {
namespace {

std::string threeDigits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/// By how much of `measured` the estimate differs, with its interval; empty where that is no part
/// to speak of: what was next to nothing can become a thousand times as much.
std::string partText(double measured, const Estimate& estimate, Change change) {
  constexpr double kMostPercent = 1000;
  const auto percent = [&](double value) { return 100 * std::abs(value - measured) / measured; };
  double least = percent(change == Change::kLess ? estimate.high : estimate.low);
  double most = percent(change == Change::kLess ? estimate.low : estimate.high);
  if (!(measured > 0) || most > kMostPercent) {
    return "";
  }
  return fmt::format(", by {:.0f} % ({:.0f} to {:.0f} %)", percent(estimate.value), least, most);
}

std::string sentence(std::string_view what, int rank, double measured, const Estimate& estimate) {
  const Change change = changeFrom(measured, estimate);
  if (change == Change::kUnknown) {
    return fmt::format(
        "{} of rank {}: no difference can be told; {} is forecast, and the {} that "
        "was measured lies within.",
        what, rank, estimateText(estimate), timeText(measured));
  }
  return fmt::format("{} of rank {} would {} from {} to {}{}.", what, rank,
                     change == Change::kLess ? "fall" : "rise", timeText(measured),
                     estimateText(estimate), partText(measured, estimate, change));
}

}  // namespace

std::string timeText(double ns) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits{
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}}};
  for (const auto& [size, name] : kUnits) {
    // 999.6 of a unit would be rounded to 1000 of it.
    if (ns >= 0.9995 * size) {
      return fmt::format("{} {}", threeDigits(ns / size), name);
    }
  }
  return fmt::format("{:.0f} ns", std::max(ns, 0.0));
}

std::string estimateText(const Estimate& estimate) {
  return fmt::format("{} ({} to {})", timeText(estimate.value), timeText(estimate.low),
                     timeText(estimate.high));
}

std::string_view changeWord(Change change) {
  switch (change) {
    case Change::kLess:
      return "less";
    case Change::kMore:
      return "more";
    case Change::kUnknown:
      break;
  }
  return "unknown";
}

std::string cannotTellText(const base::Error& why) {
  return "this run cannot tell, because " + why.what;
}

std::string forecastText(const RankForecast& of) {
  return sentence("Exposed time", of.rank, of.measuredExposedNs, of.exposedNs) + " " +
         sentence("Step time", of.rank, of.measuredStepNs, of.stepNs);
}

std::string costText(const TransferFit& fit) {
  return fmt::format(
      "Once all ranks have come and the link is free, the communication of a bucket takes {} and "
      "{} "
      "a MiB, {}; of {} transfers half are off by more than {:.1f} %.",
      timeText(fit.cost.latencyNs), timeText(fit.cost.nsPerByte * kMiB),
      fit.bySettings ? "the latter by the settings of the link" : "fitted to what the run measured",
      fit.samples, fit.errorPercent);
}

const RankForecast* mostExposed(const std::vector<RankForecast>& ranks) {
  const auto most = std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
    return a.measuredExposedNs < b.measuredExposedNs;
  });
  return most == ranks.end() ? nullptr : &*most;
}

}  // namespace lockstep::cost
