#include "engine/cost/ForecastText.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/NumberText.h"

namespace lockstep::cost {
namespace {

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
  return ", by " + base::percentRangeText(percent(estimate.value), least, most);
}

std::string sentence(std::string_view what, int rank, double measured, const Estimate& estimate) {
  const Change change = changeFrom(measured, estimate);
  if (change == Change::kUnknown) {
    return fmt::format(
        "{} of rank {}: no difference can be told; {} is forecast, and the {} that "
        "was measured lies within.",
        what, rank, estimateText(estimate), base::durationText(measured));
  }
  return fmt::format("{} of rank {} would {} from {} to {}{}.", what, rank,
                     change == Change::kLess ? "fall" : "rise", base::durationText(measured),
                     estimateText(estimate), partText(measured, estimate, change));
}

}  // namespace

std::string estimateText(const Estimate& estimate) {
  return fmt::format("{} ({} to {})", base::durationText(estimate.value),
                     base::durationText(estimate.low), base::durationText(estimate.high));
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
      "a MiB, {}; of {} transfers half are off by more than {}.",
      base::durationText(fit.cost.latencyNs), base::durationText(fit.cost.nsPerByte * base::kMiB),
      fit.bySettings ? "the latter by the settings of the link" : "fitted to what the run measured",
      fit.samples, base::percentText(fit.errorPercent));
}

std::string lineText(const Line& line) {
  const std::string under =
      line.under ? fmt::format(", and no less than its backend, {} and {} a MiB",
                               base::durationText(line.under->cost.latencyNs),
                               base::durationText(line.under->cost.nsPerByte * base::kMiB))
                 : "";
  return fmt::format("With the change it would take {} and {} a MiB{}, {} at once.",
                     base::durationText(line.cost.latencyNs),
                     base::durationText(line.cost.nsPerByte * base::kMiB), under,
                     line.inFlight == 0 ? "any number" : fmt::format("{}", line.inFlight));
}

std::string coresText(const std::optional<Cores>& cores, const std::vector<RankForecast>& ranks) {
  const auto most = std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
    return a.heldUpNs < b.heldUpNs;
  });
  if (!cores || most == ranks.end() || !(most->heldUpNs > 0)) {
    return "";
  }
  return fmt::format(
      "Its ranks keep {:.1f} of {:g} cores busy; with the change they would at times want more "
      "than there are, and a step is taken to be longer by {}, give or take half of that.",
      cores->busy, cores->count, base::durationText(most->heldUpNs));
}

const RankForecast* mostExposed(const std::vector<RankForecast>& ranks) {
  const auto most = std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
    return a.measuredExposedNs < b.measuredExposedNs;
  });
  return most == ranks.end() ? nullptr : &*most;
}

}  // namespace lockstep::cost
