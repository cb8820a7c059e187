#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/FindingJson.h"
#include "app/cli/RunReportText.h"
#include "engine/base/ReadNumber.h"

namespace lockstep::cli {
namespace {

using report::RunReport;
using Json = nlohmann::ordered_json;

/// A number that JSON can hold, or null.
Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json textOrNull(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json bucketsOf(const RunReport& report, const trace::BucketsMessage& layout) {
  Json buckets = Json::array();
  for (const auto& bucket : layout.buckets) {
    Json names = Json::array();
    for (const auto index : bucket.parameters) {
      names.push_back(index < report.parameters.size() ? report.parameters[index].name
                                                       : std::to_string(index));
    }
    buckets.push_back({{"bytes", bucket.bytes},
                       {"limit_bytes", bucket.limitBytes},
                       {"dtype", bucket.dtype},
                       {"parameters", std::move(names)}});
  }
  return buckets;
}

Json diagnosisOf(const RunReport& report) {
  Json findings = Json::array();
  for (const diagnosis::Finding& finding : report.diagnosis.findings) {
    findings.push_back(findingJson(finding));
  }
  return findings;
}

/// The buckets as DDP was constructed with, and those after the rebuild; null = none (yet).
Json layoutsOf(const RunReport& report) {
  Json layouts{{"initial", nullptr}, {"rebuilt", nullptr}};
  for (const auto& layout : report.layouts) {
    layouts[layout.layout == 0 ? "initial" : "rebuilt"] = bucketsOf(report, layout);
  }
  return layouts;
}

/// Numbers become numbers, all else stays text.
Json fieldsOf(const std::map<std::string, std::string>& fields) {
  Json object = Json::object();
  for (const auto& [name, text] : fields) {
    if (const auto integer = base::readNumber<std::int64_t>(text)) {
      object[name] = *integer;
    } else if (const auto real = base::readNumber<double>(text); real && std::isfinite(*real)) {
      object[name] = *real;
    } else {
      object[name] = text;
    }
  }
  return object;
}

/// Empty for a file that names no hosts. Offsets are null where the clocks were never compared.
Json hostsOf(const RunReport& report) {
  Json hosts = Json::array();
  for (const trace::HostState& host : report.hosts) {
    const auto& offset = host.offset;
    hosts.push_back(
        {{"host", host.info.host},
         {"name", host.info.name},
         {"address", textOrNull(host.info.address)},
         {"clock", host.info.clockSource},
         {"clock_offset_ns", offset ? Json(offset->offsetNs) : Json(nullptr)},
         {"clock_uncertainty_ns", offset ? Json(offset->uncertaintyNs) : Json(nullptr)}});
  }
  return hosts;
}

/// Medians over the measured steps of a rank; null: none was measured.
Json figuresOf(const RunReport& report, int rank) {
  const auto of = std::find_if(report.figures.begin(), report.figures.end(),
                               [rank](const auto& one) { return one.rank == rank; });
  if (of == report.figures.end() || !of->stepMs) {
    return nullptr;
  }
  const auto late = std::find_if(report.lateness.begin(), report.lateness.end(),
                                 [rank](const auto& one) { return one.rank == rank; });
  const bool judged = late != report.lateness.end();
  const auto transfer = std::find_if(report.bottlenecks.begin(), report.bottlenecks.end(),
                                     [rank](const auto& one) { return one.rank == rank; });
  const bool told = transfer != report.bottlenecks.end() && transfer->bottleneck;
  return {{"measured_steps", of->measuredSteps},
          {"step_ms", number(of->stepMs)},
          {"core_wait_ms", of->coreWaitMs},
          {"overlap_percent", number(of->overlapPercent)},
          {"overlap_least_percent", number(of->overlapLeastPercent)},
          {"overlap_most_percent", number(of->overlapMostPercent)},
          {"exposed_ms", number(of->exposedMs)},
          {"waiting_ms", number(of->waitingMs)},
          {"transfer_ms", number(of->transferMs)},
          {"lateness_ms", judged ? Json(late->meanMs) : Json(nullptr)},
          {"late", judged ? Json(late->late) : Json(nullptr)},
          {"bottleneck", told ? Json(*transfer->bottleneck) : Json(nullptr)}};
}

/// Where the exposed time of all ranks comes from, the largest part first.
Json causesOf(const RunReport& report) {
  Json causes = Json::array();
  for (const analysis::TailReason& reason : report.causes) {
    causes.push_back({{"cause", analysis::name(reason.mean.cause)},
                      {"title", analysis::title(reason.mean)},
                      {"ms", reason.mean.ms},
                      {"share", reason.share},
                      {"accuses", textOrNull(std::string(analysis::accused(reason.mean)))},
                      {"explanation", analysis::explanation(reason.mean)}});
  }
  return causes;
}

Json ranksOf(const RunReport& report) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const auto& rank = report.ranks[i];
    ranks.push_back({{"rank", rank.rank},
                     {"host", rank.host},
                     {"state", rank.state},
                     {"pid", rank.pid},
                     {"parameter_hash", textOrNull(rank.parameterHash)},
                     {"exit_code", rank.exitCode ? Json(*rank.exitCode) : Json(nullptr)},
                     {"signal", rank.signal == 0 ? Json(nullptr) : Json(rank.signal)},
                     {"last_words", textOrNull(rank.lastWords)},
                     {"stderr_tail", textOrNull(rank.stderrTail)},
                     {"wire_bytes", rank.wireBytes},
                     {"wire_messages", rank.wireMessages},
                     {"events_dropped", rank.eventsDropped},
                     {"figures", figuresOf(report, rank.rank)},
                     {"environment", rank.environment},
                     {"ddp_logging", fieldsOf(report.ddpLogging[i])}});
  }
  return ranks;
}

/// Which ranks are unlike the rest, and which are alike; null: there are few.
Json likenessOf(const RunReport& report) {
  if (!report.likeness) {
    return nullptr;
  }
  Json unlike = Json::array();
  for (const diagnosis::UnlikeRanks& one : report.likeness->unlike) {
    const auto& period = one.period;
    unlike.push_back({{"ranks", one.ranks},
                      {"host", one.host ? Json(*one.host) : Json(nullptr)},
                      {"kind", diagnosis::name(one.kind)},
                      {"ms", one.ms},
                      {"ratio", one.ratio > 0 ? Json(one.ratio) : Json(nullptr)},
                      {"every", period ? Json(period->every) : Json(nullptr)},
                      {"first_step", period ? Json(period->first) : Json(nullptr)},
                      {"strike_ms", period ? Json(one.strikeMs) : Json(nullptr)},
                      {"text", diagnosis::phraseOf(one)}});
  }
  Json classes = Json::array();
  for (const diagnosis::AlikeRanks& one : report.likeness->classes) {
    classes.push_back({{"count", one.ranks.size()}, {"unlike", one.unlike}, {"ranks", one.ranks}});
  }
  return {{"judged", report.likeness->judged},
          {"unlike", std::move(unlike)},
          {"classes", std::move(classes)}};
}

Json checksOf(const RunReport& report) {
  if (!report.checks) {
    return nullptr;
  }
  return {{"calls", report.checks->calls},
          {"own_ms", report.checks->ownMs},
          {"waiting_ms", report.checks->waitingMs},
          {"own_percent", report.checks->ownPercent},
          {"waiting_percent", report.checks->waitingPercent}};
}

Json parameterOf(const RunReport& report, std::size_t parameter) {
  return parameter < report.parameters.size() ? Json(report.parameters[parameter].name)
                                              : Json(parameter);
}

/// Where the replicas were first seen to differ; null: nowhere.
Json firstDifferenceOf(const RunReport& report) {
  if (!report.divergence.first) {
    return nullptr;
  }
  const analysis::FirstDifference& first = *report.divergence.first;
  return {{"step", first.step},
          {"last_equal_step", first.lastEqualStep ? Json(*first.lastEqualStep) : Json(nullptr)},
          {"parameter", parameterOf(report, first.parameter)},
          {"parameters_differing", first.parametersDiffering},
          {"ranks", first.ranks},
          {"majority", first.majority}};
}

/// Where the run was first seen to have diverged; null: nowhere.
Json divergedOf(const trace::RunInfo& info) {
  if (!info.divergence) {
    return nullptr;
  }
  return {{"step", info.divergence->step},
          {"rank", info.divergence->rank},
          {"parameter", textOrNull(info.divergence->parameter)},
          {"text", info.divergence->text}};
}

Json findingsOf(const RunReport& report) {
  // A model that has lost its numbers has them in every step from then on; the first ones tell
  // where it began.
  constexpr std::size_t kMost = 100;
  Json findings = Json::array();
  for (const analysis::SanityFinding& one : report.divergence.findings) {
    if (findings.size() == kMost) {
      break;
    }
    findings.push_back(
        {{"step", one.step},
         {"rank", one.rank},
         {"bucket", one.bucket == trace::kNoBucket ? Json(nullptr) : Json(one.bucket)},
         {"parameter", one.parameter ? parameterOf(report, *one.parameter) : Json(nullptr)},
         {"nans", one.nans},
         {"infinities", one.infinities}});
  }
  return findings;
}

/// What the ranks' samples say; null: there are none to compare.
Json divergenceOf(const RunReport& report) {
  const analysis::Divergence& divergence = report.divergence;
  if (!divergence.compared() && divergence.gradientNorms.empty() && divergence.findings.empty()) {
    return nullptr;
  }
  const auto& cost = divergence.cost;
  const auto spread = divergence.lastSpread();
  return {{"samples", divergence.replicas.steps.size()},
          {"first_difference", firstDifferenceOf(report)},
          {"consensus_distance", spread ? Json(*spread) : Json(nullptr)},
          {"consensus_relative_error", divergence.consensusRelativeError},
          {"gradients_not_finite", findingsOf(report)},
          {"fingerprint_percent", cost ? Json(cost->fingerprintPercent) : Json(nullptr)},
          {"gradient_check_percent", cost ? Json(cost->gradientCheckPercent) : Json(nullptr)}};
}

Json problemsOf(const RunReport& report) {
  Json problems = Json::array();
  for (const auto& problem : report.problems) {
    problems.push_back({{"severity", problem.severity},
                        {"rank", problem.rank < 0 ? Json(nullptr) : Json(problem.rank)},
                        {"step", problem.step},
                        {"text", problem.text}});
  }
  return problems;
}

}  // namespace

// Every key stands in every report, with null for what the run does not know (yet): a script need
// not ask whether it is there.
std::string toJson(const RunReport& report) {
  const trace::RunInfo& info = report.info;
  const bool ended = !info.finishedAt.empty();
  const Json json{
      {"run_id", info.runId},
      {"name", info.name},
      {"kind", trace::name(info.kind)},
      {"command", textOrNull(info.command)},
      {"state", trace::name(info.state)},
      {"failure", textOrNull(info.failure)},
      {"exit_code", ended ? Json(info.exitCode) : Json(nullptr)},
      {"started_at", info.startedAt},
      {"finished_at", textOrNull(info.finishedAt)},
      {"host", info.hostName},
      {"supervisor_pid", info.supervisorPid},
      {"world_size", info.worldSize},
      {"steps", report.steps},
      {"planned_steps", info.plannedSteps == 0 ? Json(nullptr) : Json(info.plannedSteps)},
      {"loss", number(report.loss)},
      {"test_accuracy", number(report.testAccuracy)},
      {"steps_per_second", number(report.stepsPerSecond)},
      {"steps_per_second_within_steps", number(report.stepsPerSecondWithin)},
      {"stolen_percent", number(report.stolenPercent)},
      {"causes", causesOf(report)},
      {"diagnosis", diagnosisOf(report)},
      {"likeness", likenessOf(report)},
      {"checks", checksOf(report)},
      {"diverged", divergedOf(info)},
      {"drifting_hook", textOrNull(info.driftingHook)},
      {"divergence", divergenceOf(report)},
      {"events", report.events},
      {"events_dropped", report.eventsDropped},
      {"buckets", layoutsOf(report)},
      {"hosts", hostsOf(report)},
      {"ranks", ranksOf(report)},
      {"problems", problemsOf(report)},
      {"environment", info.environment},
      {"experiment", info.experimentToml},
  };
  // Ranks print what they like; bytes that are no UTF-8 become U+FFFD.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace lockstep::cli
