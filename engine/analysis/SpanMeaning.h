#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::analysis {

// What the detail and the value of a span say, by its kind (Event.h).

/// The bytes that a span is about; none when its kind has none, or its parameter is not known.
std::optional<std::uint64_t> bytesOf(
    trace::EventKind kind, std::uint16_t detail, std::uint64_t value,
    const std::vector<trace::ParametersMessage::Parameter>& parameters);

/// The parameter that a span is about; none when its kind has none.
std::optional<std::uint64_t> parameterOf(trace::EventKind kind, std::uint16_t detail,
                                         std::uint64_t value);

}  // namespace lockstep::analysis
