#include "app/cli/ForecastJson.h"

#include <nlohmann/json.hpp>

#include "engine/base/NumberText.h"
#include "engine/cost/ForecastText.h"

namespace lockstep::cli {
namespace {

nlohmann::ordered_json estimateJson(double measured, const cost::Estimate& estimate) {
  return {{"value", estimate.value / kNsPerMs},
          {"low", estimate.low / kNsPerMs},
          {"high", estimate.high / kNsPerMs},
          {"change", std::string(cost::changeWord(cost::changeFrom(measured, estimate)))}};
}

}  // namespace

base::Error cannotTell(const std::string& path, const base::Error& why) {
  return {why.code, cost::cannotTellText(why), path};
}

nlohmann::ordered_json forecastsJson(const std::vector<cost::RankForecast>& ranks) {
  auto all = nlohmann::ordered_json::array();
  // Three figures for each time: what was measured, what the replay makes of the same buckets, and
  // the forecast. How far the first two are apart is what the model itself errs by.
  for (const cost::RankForecast& of : ranks) {
    all.push_back({{"rank", of.rank},
                   {"measured_exposed_ms", of.measuredExposedNs / kNsPerMs},
                   {"replayed_exposed_ms", of.replayedExposedNs / kNsPerMs},
                   {"exposed_ms", estimateJson(of.measuredExposedNs, of.exposedNs)},
                   {"measured_step_ms", of.measuredStepNs / kNsPerMs},
                   {"replayed_step_ms", of.replayedStepNs / kNsPerMs},
                   {"step_ms", estimateJson(of.measuredStepNs, of.stepNs)},
                   {"held_up_ms", of.heldUpNs / kNsPerMs}});
  }
  return all;
}

nlohmann::ordered_json fitJson(const cost::TransferFit& fit) {
  return {{"latency_ms", fit.cost.latencyNs / kNsPerMs},
          {"ms_per_mib", fit.cost.nsPerByte * base::kMiB / kNsPerMs},
          {"by_settings", fit.bySettings},
          {"fit_error_percent", fit.errorPercent},
          {"transfers", fit.samples}};
}

nlohmann::ordered_json lineJson(const cost::Line& line) {
  nlohmann::ordered_json all{{"latency_ms", line.cost.latencyNs / kNsPerMs},
                             {"ms_per_mib", line.cost.nsPerByte * base::kMiB / kNsPerMs},
                             {"in_flight", line.inFlight}};
  if (line.under) {
    all["backend"] = {{"latency_ms", line.under->cost.latencyNs / kNsPerMs},
                      {"ms_per_mib", line.under->cost.nsPerByte * base::kMiB / kNsPerMs},
                      {"in_flight", line.under->inFlight}};
  }
  return all;
}

}  // namespace lockstep::cli
