#include "engine/analysis/SpanMeaning.h"

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {

using trace::EventKind;
using trace::FaultKind;

namespace {

bool isOfWholeBucket(EventKind kind, std::uint16_t detail) {
  return (kind == EventKind::kCopyIn || kind == EventKind::kGradientCheck) &&
         (detail & trace::kWholeBucket) != 0;
}

}  // namespace

std::optional<std::uint64_t> bytesOf(
    EventKind kind, std::uint16_t detail, std::uint64_t value,
    const std::vector<trace::ParametersMessage::Parameter>& parameters) {
  if (isOfWholeBucket(kind, detail)) {
    return value;
  }
  switch (run::factsOf(kind).value) {
    case run::ValueIs::kCollective:
      return trace::collectiveBytes(value);
    case run::ValueIs::kBytes:
      return value;
    case run::ValueIs::kParameter:
      return value < parameters.size()
                 ? std::optional(static_cast<std::uint64_t>(parameters[value].bytes))
                 : std::nullopt;
    case run::ValueIs::kOfItsOwn:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parameterOf(EventKind kind, std::uint16_t detail,
                                         std::uint64_t value) {
  if (run::factsOf(kind).value == run::ValueIs::kParameter) {
    return isOfWholeBucket(kind, detail) ? std::nullopt : std::optional(value);
  }
  if (kind == EventKind::kFault && static_cast<FaultKind>(detail) == FaultKind::kFlipBit) {
    return value >> 8;
  }
  return kind == EventKind::kFault && static_cast<FaultKind>(detail) == FaultKind::kNan
             ? std::optional(value)
             : std::nullopt;
}

}  // namespace lockstep::analysis
