#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::exports {

using Parameter = trace::ParametersMessage::Parameter;

/// The name that c10d's logs and Kineto's traces give an operation: "allreduce", "all_gather".
std::string_view collectiveName(trace::Operation operation);

/// Whether a span's value and detail name a collective.
bool namesCollective(trace::EventKind kind);

/// The bytes that a span is about; none when its kind has none, or its parameter is not known.
std::optional<std::uint64_t> bytesOf(const trace::SpanRow& span,
                                     const std::vector<Parameter>& parameters);

/// The parameter that a span is about; none when its kind has none.
std::optional<std::uint64_t> parameterOf(const trace::SpanRow& span);

}  // namespace lockstep::exports
