#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::analysis {

// What the detail and the value of a span say, by its kind (Event.h).

/// Whether they name a collective.
bool namesCollective(trace::EventKind kind);

/// Whether it goes on without the thread that recorded it: that one waits, or works on something
/// else, so that its spans may overlap.
bool isAsynchronous(trace::EventKind kind);

/// The bytes that a span is about; none when its kind has none, or its parameter is not known.
std::optional<std::uint64_t> bytesOf(
    trace::EventKind kind, std::uint16_t detail, std::uint64_t value,
    const std::vector<trace::ParametersMessage::Parameter>& parameters);

/// The parameter that a span is about; none when its kind has none.
std::optional<std::uint64_t> parameterOf(trace::EventKind kind, std::uint16_t detail,
                                         std::uint64_t value);

}  // namespace lockstep::analysis
