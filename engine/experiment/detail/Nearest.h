#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::experiment::detail {

/// Returns the number of single-character edits, swaps of neighbours included, that turn one
/// text into the other.
std::size_t editDistance(std::string_view a, std::string_view b);

/// Returns the candidate a user most likely meant by `text`, or an empty text when none is
/// near. Case, and '-' for '_', are no difference.
std::string nearestOf(std::string_view text, const std::vector<std::string>& candidates);

/// The same among the keys of the schema: by the whole key, or by its last part, so that a key
/// in the wrong table is found too.
std::string nearestKey(std::string_view key);

/// Returns the nearest table name, or an empty text.
std::string nearestTable(std::string_view table);

/// Returns the names of the tables, in the order of the schema.
std::vector<std::string> tableNames();

}  // namespace lockstep::experiment::detail
