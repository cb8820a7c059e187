#pragma once

#include <cstddef>

namespace lockstep::ui {

/// The row of its lane that a span starts to look for room in when it stands apart from what the
/// lane is about: in communication, a check, below the collectives.
inline constexpr std::size_t kOwnRow = 4;

}  // namespace lockstep::ui
