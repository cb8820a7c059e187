#pragma once

#include <cstddef>

#include "engine/trace/RunFile.h"

namespace lockstep::ui {

/// The row of its lane that a span starts to look for room in when it stands apart from what the
/// lane is about: in communication, a check, below the collectives.
inline constexpr std::size_t kOwnRow = 4;

/// Returns the row of its lane that a span starts to look for room in. Children are recorded before
/// the spans that contain them, so nesting is given by kind and not by what came first.
std::size_t firstRowOf(const trace::SpanRow& span);

}  // namespace lockstep::ui
