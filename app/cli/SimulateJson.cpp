#include "app/cli/SimulateJson.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/ForecastJson.h"

namespace lockstep::cli {
namespace {

using simulate::RanksForecast;
using Json = nlohmann::ordered_json;

Json linkJson(const simulate::LinkCost& link) {
  constexpr double kNsPerUs = 1000;
  Json json{{"latency_us", link.latencyNs / kNsPerUs}};
  json["bandwidth_gbps"] = link.nsPerByte > 0 ? Json(8 / link.nsPerByte) : Json();
  return json;
}

Json intervalJson(const cost::Estimate& of, double unit) {
  return {{"value", of.value / unit}, {"low", of.low / unit}, {"high", of.high / unit}};
}

Json figuresJson(const RanksForecast& of) {
  return {{"step_ms", of.stepNs.value / kNsPerMs},
          {"exposed_ms", of.exposedNs.value / kNsPerMs},
          {"efficiency", of.efficiency.value}};
}

Json rowJson(const RanksForecast& of) {
  return {{"ranks", of.ranks},
          {"extrapolated", of.extrapolated},
          {"beyond_sample", of.beyondSample},
          {"step_ms", intervalJson(of.stepNs, kNsPerMs)},
          {"exposed_ms", intervalJson(of.exposedNs, kNsPerMs)},
          {"efficiency", intervalJson(of.efficiency, 1)},
          {"bound_by", simulate::name(of.bound)},
          {"less_without_ms",
           {{"bandwidth", of.bandwidthNs / kNsPerMs},
            {"latency", of.latencyNs / kNsPerMs},
            {"stragglers", of.stragglersNs / kNsPerMs}}},
          {"allreduce", simulate::name(of.by)}};
}

Json optionalJson(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

std::string toJson(const Simulated& told) {
  const simulate::Scaling& scaling = told.scaling;
  const simulate::Network& network = scaling.network();
  const simulate::RankNoise& noise = scaling.noise();
  Json all{{"simulated", true},
           {"from", told.path},
           {"recorded_ranks", scaling.recorded().ranks},
           {"steps", scaling.recorded().steps},
           {"simulated_steps", scaling.question().steps},
           {"seed", scaling.question().seed},
           {"algorithm", simulate::name(scaling.question().algorithm)}};
  if (!told.hook.empty()) {
    all["hook"] = {{"name", told.hook}, {"share", *scaling.question().hook->share}};
    if (!told.ofHook.empty()) {
      all["hook"]["verified"] = told.ofHook;
    }
  }
  all.update(fitJson(scaling.fit()));
  all["link"] = linkJson(network.link);
  all["inside"] = linkJson(network.inside);
  all["ranks_per_node"] = network.ranksPerNode;
  all["overhead_ms"] = network.overheadNs / kNsPerMs;
  all["rank_spread_ms"] = noise.rankSpreadNs / kNsPerMs;
  all["host_spread_ms"] = noise.hostSpreadNs / kNsPerMs;
  if (noise.tail) {
    all["tail"] = {{"threshold_ms", noise.tail->threshold / kNsPerMs},
                   {"scale_ms", noise.tail->scale / kNsPerMs},
                   {"shape", noise.tail->shape},
                   {"values", noise.tail->excesses}};
  }
  all["measured"] = figuresJson(scaling.measured());
  all["own_ranks_simulated"] = figuresJson(scaling.simulated());
  for (const RanksForecast& row : told.rows) {
    all["ranks"].push_back(rowJson(row));
  }
  all["breaks"] = {{"efficiency", told.breaks.efficiency},
                   {"ranks", optionalJson(told.breaks.ranks)},
                   {"low", optionalJson(told.breaks.low)},
                   {"high", optionalJson(told.breaks.high)}};
  if (told.breaks.ranks) {
    all["breaks"]["bound_by"] = simulate::name(told.breaks.bound);
  }
  if (!told.runFile.empty()) {
    all["run_file"] = told.runFile;
    all["shown"] = told.shown;
  }
  return all.dump(2) + "\n";
}

}  // namespace lockstep::cli
