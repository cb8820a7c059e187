#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/trace/Messages.h"
#include "ui/model/Span.h"

namespace lockstep::ui {

// What a span is called and carries, from the span and the parameters of its run alone: for
// threads that must not touch the model. All [any-thread].

/// The parameters of a run, by registration: RunModel::parameters.
using ParameterTable = std::vector<trace::ParametersMessage::Parameter>;

/// Returns the name of a parameter of the run: "fc1.weight".
QString parameterName(const ParameterTable& parameters, std::uint64_t index);

/// Returns what a span is, in a few words: "forward", "allreduce, bucket 3",
/// "gradient ready: fc1.weight", "fault: delay of 5.00 ms".
QString titleOf(const ParameterTable& parameters, const Span& span);

/// Returns what a title is made of as one number, to keep titles by; nothing where that is too
/// much for one.
std::optional<std::uint64_t> titleKey(const Span& span);

/// Returns what spans of one sort have in common: their title without bucket, parameter and
/// iteration, "allreduce", "gradient ready", "iteration". No two kinds have one name.
QString nameOf(const Span& span);

/// Whether the span's value and detail are those of a collective.
bool isCollective(trace::EventKind kind);

/// Returns the bytes a span is about; 0 when it carries none.
std::uint64_t bytesOf(const ParameterTable& parameters, const Span& span);

}  // namespace lockstep::ui
