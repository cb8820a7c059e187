#include "engine/experiment/detail/Nearest.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "engine/experiment/detail/Rows.h"

namespace lockstep::experiment::detail {
namespace {

constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max() / 2;

std::string normalised(std::string_view text) {
  std::string result(text.substr(0, 80));
  for (char& c : result) {
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

/// A distance that also takes a shortened word ("batch") for near; kFar when not near at all.
std::size_t likeness(const std::string& text, const std::string& candidate) {
  if (text.size() >= 3 &&
      (candidate.starts_with(text) || candidate.ends_with(text) || text.starts_with(candidate))) {
    return std::min<std::size_t>(2, editDistance(text, candidate));
  }
  const std::size_t limit = std::max<std::size_t>(1, std::min(text.size(), candidate.size()) / 3);
  const std::size_t distance = editDistance(text, candidate);
  return distance <= limit ? distance : kFar;
}

}  // namespace

std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> beforeLast(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], beforeLast[j - 2] + 1);
      }
    }
    beforeLast.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string nearestOf(std::string_view text, const std::vector<std::string>& candidates) {
  const std::string wanted = normalised(text);
  std::size_t best = kFar;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = likeness(wanted, normalised(candidate));
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string nearestKey(std::string_view key) {
  const std::string wanted = normalised(key);
  const KeyParts parts = splitKey(wanted);
  std::size_t best = kFar;
  std::string nearest;
  for (const Row& row : rows()) {
    const KeyParts candidate = splitKey(row.field.key);
    const std::size_t leaf = likeness(std::string(parts.leaf), std::string(candidate.leaf));
    // The right name in the wrong table is nearer than a like name in the right one.
    const std::size_t distance = 2 * leaf + (parts.table == candidate.table ? 0 : 1);
    if (leaf < kFar && distance < best) {
      best = distance;
      nearest = row.field.key;
    }
  }
  return nearest;
}

std::string nearestTable(std::string_view table) {
  return nearestOf(table, tableNames());
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
