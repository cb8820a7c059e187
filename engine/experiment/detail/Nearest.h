#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::experiment::detail {

/// Returns the key of the schema that a user most likely meant, or an empty text: by the whole
/// key, or by its last part, so that a key in the wrong table is found too.
std::string nearestKey(std::string_view key);

/// Returns the nearest table name, or an empty text.
std::string nearestTable(std::string_view table);

/// Returns the names of the tables, in the order of the schema.
std::vector<std::string> tableNames();

}  // namespace lockstep::experiment::detail
