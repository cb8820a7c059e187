#include "engine/export/EventTable.h"

#include <fmt/format.h>

#include "engine/analysis/SpanMeaning.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "engine/trace/UserPhases.h"

namespace lockstep::exports {
namespace {

using trace::EventKind;

constexpr double kNsPerMs = 1e6;
constexpr std::uint64_t kForwardHalf = 0;  // the value of a kParallelApply

}  // namespace

const std::vector<std::string_view>& eventTitles() {
  static const std::vector<std::string_view> titles{
      "id",         "rank",   "thread", "kind",     "what",  "start_ms",  "duration_ms", "step",
      "in_step_ms", "bucket", "group",  "sequence", "bytes", "parameter", "detail",      "value"};
  return titles;
}

// Detail and value mean something else in each kind (Event.h).
std::string whatOf(EventKind kind, std::uint16_t detail, std::uint64_t value) {
  if (run::has(kind, run::kOfCall)) {
    return std::string(trace::name(trace::operationOf(detail)));
  }
  switch (kind) {
    case EventKind::kStartup:
      return std::string(trace::name(static_cast<trace::StartupStage>(detail)));
    case EventKind::kFault:
      return std::string(trace::name(static_cast<trace::FaultKind>(detail)));
    case EventKind::kParallelApply:
      return fmt::format("device {} {}", detail, value == kForwardHalf ? "forward" : "backward");
    default:
      return std::string(trace::isNamed(kind) ? trace::userPhaseName(value) : "");
  }
}

bool isOfNoStep(EventKind kind, double endNs, double stepStartNs) {
  return kind == EventKind::kStartup || endNs < stepStartNs;
}

void write(Csv& csv, const EventRow& row,
           const std::vector<trace::ParametersMessage::Parameter>& parameters) {
  csv.number(row.id).number(row.rank).text(row.thread).text(trace::name(row.kind));
  csv.text(whatOf(row.kind, row.detail, row.value));
  csv.ms(row.startNs / kNsPerMs).ms(row.durationNs / kNsPerMs);
  if (isOfNoStep(row.kind, row.startNs + row.durationNs, row.stepStartNs)) {
    csv.nothing().nothing();
  } else {
    csv.number(row.step);
    csv.ms(std::isnan(row.stepStartNs) ? std::nullopt
                                       : std::optional((row.startNs - row.stepStartNs) / kNsPerMs));
  }
  csv.bucket(row.bucket);
  if (run::has(row.kind, run::kOfCall)) {
    csv.number(static_cast<int>(trace::groupOf(row.detail)))
        .number(trace::collectiveSequence(row.value));
  } else {
    csv.nothing().nothing();
  }
  if (const auto bytes = analysis::bytesOf(row.kind, row.detail, row.value, parameters)) {
    csv.number(*bytes);
  } else {
    csv.nothing();
  }
  const auto parameter = analysis::parameterOf(row.kind, row.detail, row.value);
  if (parameter && *parameter < parameters.size()) {
    csv.text(parameters[*parameter].name);
  } else {
    csv.nothing();
  }
  csv.number(static_cast<int>(row.detail)).number(row.value).end();
}

}  // namespace lockstep::exports
