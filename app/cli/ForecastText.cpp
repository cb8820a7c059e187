#include "app/cli/ForecastText.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep::cli {

base::Error cannotTell(const std::string& path, const base::Error& why) {
  return {why.code, "this run cannot tell, because " + why.what, path};
}

std::string estimateText(const cost::Estimate& estimate) {
  return fmt::format("{:.4g} ({:.4g} to {:.4g})", estimate.value / kNsPerMs,
                     estimate.low / kNsPerMs, estimate.high / kNsPerMs);
}

nlohmann::ordered_json estimateJson(const cost::Estimate& estimate) {
  return {{"value", estimate.value / kNsPerMs},
          {"low", estimate.low / kNsPerMs},
          {"high", estimate.high / kNsPerMs}};
}

nlohmann::ordered_json forecastsJson(const std::vector<cost::RankForecast>& ranks) {
  auto all = nlohmann::ordered_json::array();
  for (const cost::RankForecast& of : ranks) {
    all.push_back({{"rank", of.rank},
                   {"measured_exposed_ms", of.measuredExposedNs / kNsPerMs},
                   {"replayed_exposed_ms", of.replayedExposedNs / kNsPerMs},
                   {"exposed_ms", estimateJson(of.exposedNs)},
                   {"measured_step_ms", of.measuredStepNs / kNsPerMs},
                   {"replayed_step_ms", of.replayedStepNs / kNsPerMs},
                   {"step_ms", estimateJson(of.stepNs)}});
  }
  return all;
}

nlohmann::ordered_json fitJson(const cost::TransferFit& fit) {
  return {{"latency_ms", fit.cost.latencyNs / kNsPerMs},
          {"ms_per_mib", fit.cost.nsPerByte * cost::kMiB / kNsPerMs},
          {"by_settings", fit.bySettings},
          {"fit_error_percent", fit.errorPercent},
          {"transfers", fit.samples}};
}

std::string fitText(const cost::TransferFit& fit, std::size_t steps) {
  return fmt::format(
      "Over {} steps. The communication of a bucket takes {:.3g} ms and {:.3g} ms a MiB, {}; of {} "
      "transfers half are off by more than {:.1f} %.",
      steps, fit.cost.latencyNs / kNsPerMs, fit.cost.nsPerByte * cost::kMiB / kNsPerMs,
      fit.bySettings ? "the latter by the settings of the link" : "fitted to what the run measured",
      fit.samples, fit.errorPercent);
}

const cost::RankForecast& mostExposed(const std::vector<cost::RankForecast>& ranks) {
  return *std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
    return a.measuredExposedNs < b.measuredExposedNs;
  });
}

}  // namespace lockstep::cli
