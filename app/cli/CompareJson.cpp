#include <map>
#include <nlohmann/json.hpp>

#include "app/cli/ComparedRun.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json orNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename Value>
Json arrayOf(const std::vector<std::optional<Value>>& values) {
  Json array = Json::array();
  for (const auto& value : values) {
    array.push_back(orNull(value));
  }
  return array;
}

// Not analysis::title(), which is written for people and may be put better: scripts look for these.
const char* nameOf(analysis::Cause cause) {
  using analysis::Cause;
  static const std::map<Cause, const char*> kNames = {{Cause::kComputing, "computing"},
                                                      {Cause::kNoCoreInFlight, "no_core_in_flight"},
                                                      {Cause::kNoCore, "no_core"},
                                                      {Cause::kTransfer, "transfer"},
                                                      {Cause::kWaiting, "waiting"},
                                                      {Cause::kCommunicating, "communicating"},
                                                      {Cause::kEncode, "encode"},
                                                      {Cause::kDecode, "decode"},
                                                      {Cause::kLaunchDelay, "launch_delay"},
                                                      {Cause::kOther, "other"}};
  return kNames.at(cause);
}

Json runsOf(const analysis::Comparison& comparison, const std::vector<ComparedRun>& runs) {
  Json array = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const analysis::ComparedRun& run = comparison.runs[i];
    array.push_back({{"letter", analysis::letterOf(i)},
                     {"path", runs[i].path.string()},
                     {"name", run.name},
                     {"kind", trace::name(runs[i].info.kind)},
                     {"run_id", runs[i].info.runId},
                     {"state", trace::name(runs[i].info.state)},
                     {"measured_iterations", run.measuredIterations},
                     {"warm_up_iterations", run.warmUpIterations},
                     {"incomplete_iterations", run.incompleteIterations}});
  }
  return array;
}

Json metricsOf(const analysis::Comparison& comparison) {
  Json array = Json::array();
  for (const analysis::MetricRow& row : comparison.metrics) {
    const analysis::MetricFacts& about = analysis::facts(row.metric);
    Json deltas = Json::array();
    for (std::size_t i = 0; i < row.deltas.size(); ++i) {
      const analysis::Delta& delta = row.deltas[i];
      deltas.push_back({{"run", analysis::letterOf(i + 1)},
                        {"difference", orNull(delta.difference)},
                        {"percent", orNull(delta.percent)},
                        {"low", orNull(delta.low)},
                        {"high", orNull(delta.high)},
                        {"verdict", analysis::name(delta.verdict)},
                        {"reason", delta.reason}});
    }
    array.push_back({{"metric", about.key},
                     {"name", about.name},
                     {"unit", about.unit},
                     {"values", arrayOf(row.values)},
                     {"deltas", std::move(deltas)}});
  }
  return array;
}

Json whyOf(const analysis::Comparison& comparison) {
  Json array = Json::array();
  for (std::size_t i = 0; i < comparison.why.size(); ++i) {
    const analysis::Why& why = comparison.why[i];
    Json reasons = Json::array();
    for (const analysis::Reason& reason : why.reasons) {
      const bool bucket = reason.key.bucket != trace::kNoBucket;
      const bool waiting = reason.key.waitedFor >= 0;
      reasons.push_back({{"cause", nameOf(reason.key.cause)},
                         {"bucket", bucket ? Json(reason.key.bucket) : Json(nullptr)},
                         {"buckets_in_a", reason.buckets.inA},
                         {"buckets", reason.buckets.inB},
                         {"waited_for_rank", waiting ? Json(reason.key.waitedFor) : Json(nullptr)},
                         {"exposed", analysis::isExposed(reason.key.cause)},
                         {"ms_in_a", reason.msA},
                         {"ms", reason.ms},
                         {"delta_ms", reason.deltaMs},
                         {"sentence", reason.sentence}});
    }
    array.push_back({{"run", analysis::letterOf(i + 1)},
                     {"mean_step_delta_ms", why.stepDeltaMs},
                     {"mean_exposed_delta_ms", why.exposedDeltaMs},
                     {"same_buckets", why.perBucket},
                     {"summary", why.summary},
                     {"reasons", std::move(reasons)}});
  }
  return array;
}

}  // namespace

std::string toJson(const analysis::Comparison& comparison, const std::vector<ComparedRun>& runs) {
  Json keys = Json::array();
  for (const analysis::DifferingKey& key : comparison.keys) {
    keys.push_back({{"key", key.key}, {"values", arrayOf(key.values)}});
  }
  const Json all{{"runs", runsOf(comparison, runs)},
                 {"differing_keys", std::move(keys)},
                 {"keys_note", comparison.keysNote},
                 {"metrics", metricsOf(comparison)},
                 {"why", whyOf(comparison)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockstep::cli
