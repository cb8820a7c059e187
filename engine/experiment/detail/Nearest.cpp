#include "engine/experiment/detail/Nearest.h"

#include <optional>

#include "engine/base/Nearest.h"
#include "engine/experiment/detail/Rows.h"

namespace lockstep::experiment::detail {

std::string nearestKey(std::string_view key) {
  const KeyParts parts = splitKey(key);
  std::optional<std::size_t> best;
  std::string nearest;
  for (const Row& row : rows()) {
    const KeyParts candidate = splitKey(row.field.key);
    // None: too unlike to be meant.
    const auto leaf = base::unlikeness(parts.leaf, candidate.leaf);
    if (!leaf) {
      continue;
    }
    // The right name in the wrong table is nearer than a like name in the right one.
    const std::size_t distance =
        2 * *leaf + (base::unlikeness(parts.table, candidate.table) == 0U ? 0 : 1);
    if (!best || distance < *best) {
      best = distance;
      nearest = row.field.key;
    }
  }
  return nearest;
}

std::string nearestTable(std::string_view table) {
  return base::nearestOf(table, tableNames());
}

std::vector<std::string> tableNames() {
  std::vector<std::string> names;
  for (const Row& row : rows()) {
    const std::string table(splitKey(row.field.key).table);
    if (!table.empty() && (names.empty() || names.back() != table)) {
      names.push_back(table);
    }
  }
  return names;
}

}  // namespace lockstep::experiment::detail
