#include "engine/export/SpanArguments.h"

#include <fmt/format.h>

#include <iterator>

#include "engine/analysis/SpanMeaning.h"
#include "engine/export/JsonText.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "engine/trace/UserPhases.h"

namespace lockstep::exports {
namespace {

using trace::EventKind;
using trace::FaultKind;
using trace::Operation;
using trace::SpanRow;

/// What PyTorch calls a dtype, and how large an element is.
struct Dtype {
  std::string_view file;  // as ParametersMessage has it
  std::string_view name;
  std::uint64_t bytes;
};
constexpr Dtype kDtypes[] = {
    {"float32", "Float", 4},     {"float64", "Double", 8}, {"float16", "Half", 2},
    {"bfloat16", "BFloat16", 2}, {"int64", "Long", 8},     {"int32", "Int", 4},
    {"uint8", "Byte", 1},        {"int8", "Char", 1},      {"bool", "Bool", 1}};

std::string groupName(std::uint8_t group) {
  return std::to_string(group);
}

/// What an observed job calls it, or what c10d would.
std::string groupDescription(const Survey& survey, std::uint8_t group) {
  for (const trace::RankInfo& rank : survey.ranks) {
    const auto found = rank.environment.find(trace::kGroupPrefix + std::to_string(group));
    if (found != rank.environment.end()) {
      return found->second;
    }
  }
  return group == 0 ? "default_pg" : "undefined";
}

std::string rankList(const std::set<int>& ranks) {
  return fmt::format("[{}]", fmt::join(ranks, ", "));
}

void member(std::string& out, std::string_view key, std::int64_t number) {
  out += out.empty() || out.back() == '{' ? "\"" : ",\"";
  out += key;
  out += "\":";
  appendNumber(out, number);
}

void member(std::string& out, std::string_view key, std::uint64_t number) {
  member(out, key, static_cast<std::int64_t>(number));
}

void startMember(std::string& out, std::string_view key) {
  out += out.empty() || out.back() == '{' ? "\"" : ",\"";
  out += key;
  out += "\":";
}

/// How many times a call's payload, of which the events carry one rank's part, it is on one side.
struct Sides {
  std::uint64_t in = 1;
  std::uint64_t out = 1;
};
// Kineto has the elements of both sides: of an allgather over 4 ranks one part goes in, four come
// out.
Sides sidesOf(Operation operation, std::uint64_t ranks) {
  switch (operation) {
    case Operation::kAllgather:
    case Operation::kGather:
      return {1, ranks};
    case Operation::kReduceScatter:
    case Operation::kScatter:
      return {ranks, 1};
    default:
      return {1, 1};
  }
}

/// The name that c10d's logs and Kineto's traces give an operation: "allreduce", "all_gather".
std::string_view collectiveName(Operation operation) {
  switch (operation) {
    case Operation::kAllgather: return "all_gather";
    case Operation::kAlltoall: return "all_to_all";
    default: return trace::name(operation);
  }
}

std::string_view faultText(const SpanRow& span) {
  return trace::name(static_cast<FaultKind>(span.detail));
}

}  // namespace

SpanArguments::SpanArguments(const Survey& survey) : survey_(survey), backend_(survey.backend()) {
  for (const auto& parameter : survey.parameters) {
    appendQuoted(parameters_.emplace_back(), parameter.name);
  }
  for (const auto& [group, ranks] : survey.groups) {
    std::string& text = ofGroups_[group];
    member(text, "Group size", static_cast<std::uint64_t>(ranks.size()));
    startMember(text, "Process Group Name");
    appendQuoted(text, groupName(group));
    startMember(text, "Process Group Description");
    appendQuoted(text, groupDescription(survey_, group));
    startMember(text, "Process Group Ranks");
    appendQuoted(text, rankList(ranks));
  }
}

std::string SpanArguments::groupsAsJson() const {
  std::string text = "[";
  for (const auto& [group, ranks] : survey_.groups) {
    // As pg_config of torch.distributed has it, which HTA and others read.
    text += text.size() > 1 ? ",{" : "{";
    startMember(text, "pg_name");
    appendQuoted(text, groupName(group));
    startMember(text, "pg_desc");
    appendQuoted(text, groupDescription(survey_, group));
    startMember(text, "backend_config");
    appendQuoted(text, "cpu:" + backend_);
    member(text, "pg_size", static_cast<std::uint64_t>(ranks.size()));
    startMember(text, "ranks");
    text += rankList(ranks) + "}";
  }
  return text + "]";
}

void SpanArguments::appendName(std::string& out, const SpanRow& span) const {
  const auto operation = [&] { return collectiveName(trace::operationOf(span.detail)); };
  const auto quoted = [&](std::string_view before, std::string_view text) {
    out += '"';
    out += before;
    out += text;  // names of our own: nothing to escape
    out += '"';
  };
  switch (span.kind) {
    case EventKind::kStep:
      quoted("ProfilerStep#", fmt::format_int(span.step).c_str());
      return;
    case EventKind::kStartup:
      quoted("startup: ", trace::name(static_cast<trace::StartupStage>(span.detail)));
      return;
    case EventKind::kCollective:
      appendQuoted(out, backend_ + ':' + std::string(operation()));
      return;
    case EventKind::kCollectiveQueued:
      quoted("queued: ", operation());
      return;
    case EventKind::kChecked:
      quoted("check: ", operation());
      return;
    case EventKind::kShaped:
      quoted("link: ", operation());
      return;
    case EventKind::kNcclCall:
      quoted("NCCL called: ", operation());
      return;
    case EventKind::kNcclKernel:
      quoted("NCCL kernel: ", operation());
      return;
    case EventKind::kFault:
      quoted("fault: ", faultText(span));
      return;
    case EventKind::kGap:
      quoted("events lost", "");
      return;
    case EventKind::kOffCore:
      quoted("no core for a part of it", "");
      return;
    default: {
      const std::string_view name = trace::name(span.kind);
      const std::string_view given =
          trace::isNamed(span.kind) ? trace::userPhaseName(span.value) : std::string_view();
      if (!given.empty()) {
        appendQuoted(out, std::string(given));
      } else if (name == "unknown") {  // of a newer format
        quoted("kind ", fmt::format_int(static_cast<int>(span.kind)).c_str());
      } else {
        quoted("", name);
      }
    }
  }
}

SpanArguments::Elements SpanArguments::elementsOf(const SpanRow& span) const {
  const std::uint64_t bytes = trace::collectiveBytes(span.value);
  // A call's dtype is not recorded. That of a bucket is known, and a call about all of the bucket's
  // bytes carries them as they are; anything else may have been encoded by a hook.
  const trace::BucketsMessage* layout = survey_.layoutAt(span.step);
  if (layout != nullptr && span.bucket < layout->buckets.size()) {
    const auto& bucket = layout->buckets[span.bucket];
    for (const Dtype& dtype : kDtypes) {
      if (bucket.bytes == bytes && dtype.file == bucket.dtype) {
        return {dtype.name, bytes / dtype.bytes, true};
      }
    }
  }
  return {"Byte", bytes, false};
}

std::size_t SpanArguments::groupSize(std::uint8_t group) const {
  const auto at = survey_.groups.find(group);
  return at == survey_.groups.end() ? 1 : at->second.size();
}

void SpanArguments::appendCollective(std::string& out, const SpanRow& span) const {
  const Operation operation = trace::operationOf(span.detail);
  const std::uint8_t group = trace::groupOf(span.detail);
  const Elements elements = elementsOf(span);
  const Sides sides = sidesOf(operation, groupSize(group));
  startMember(out, "Collective name");
  appendQuoted(out, collectiveName(operation));
  member(out, "In msg nelems", elements.count * sides.in);
  member(out, "Out msg nelems", elements.count * sides.out);
  startMember(out, "dtype");
  appendQuoted(out, elements.dtype);
  if (const auto at = ofGroups_.find(group); at != ofGroups_.end()) {
    out += "," + at->second;
  }
  member(out, "Seq", static_cast<std::uint64_t>(trace::collectiveSequence(span.value)));
  if (!elements.known) {
    startMember(out, "dtype recorded");
    out += "false";
  }
}

void SpanArguments::appendArguments(std::string& out, const SpanRow& span) const {
  if (span.kind != EventKind::kStartup) {
    member(out, "step", static_cast<std::uint64_t>(span.step));
  }
  if (span.bucket != trace::kNoBucket) {
    member(out, "bucket", static_cast<std::uint64_t>(span.bucket));
  }
  if (span.kind == EventKind::kCollective) {
    appendCollective(out, span);
  } else if (run::has(span.kind, run::kOfCall)) {
    startMember(out, "Collective name");
    appendQuoted(out, collectiveName(trace::operationOf(span.detail)));
    startMember(out, "Process Group Name");
    appendQuoted(out, groupName(trace::groupOf(span.detail)));
    member(out, "Seq", static_cast<std::uint64_t>(trace::collectiveSequence(span.value)));
  }
  if (const auto parameter = analysis::parameterOf(span.kind, span.detail, span.value)) {
    if (*parameter < parameters_.size()) {
      startMember(out, "parameter");
      out += parameters_[*parameter];
    } else {
      member(out, "parameter number", *parameter);
    }
  }
  if (const auto bytes = analysis::bytesOf(span.kind, span.detail, span.value, survey_.parameters)) {
    member(out, "bytes", *bytes);
  }
  switch (span.kind) {
    case EventKind::kGap:
      member(out, "events", span.value);
      break;
    case EventKind::kOffCore:
      member(out, "no core [ns]", span.value);
      break;
    case EventKind::kSearchUnused:
      member(out, "unused parameters", span.value);
      break;
    case EventKind::kParallelApply:
      member(out, "device", static_cast<std::uint64_t>(span.detail));
      break;
    case EventKind::kFault:
      if (static_cast<FaultKind>(span.detail) == FaultKind::kDelay) {
        member(out, "asked for [ns]", span.value);
      }
      break;
    default:
      break;
  }
}

}  // namespace lockstep::exports
