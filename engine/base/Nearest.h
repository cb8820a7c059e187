#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::base {

// What a user most likely meant by a name that is none. [any-thread]

/// Returns the number of single-character edits, swaps of neighbours included, that turn one
/// text into the other.
std::size_t editDistance(std::string_view a, std::string_view b);

/// A distance that also takes a shortened word ("batch") for near; nothing when they are not near
/// at all. Case, and '-' for '_', are no difference.
std::optional<std::size_t> unlikeness(std::string_view text, std::string_view candidate);

/// Returns the nearest candidate, or an empty text when none is near.
std::string nearestOf(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace lockstep::base
