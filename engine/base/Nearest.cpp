#include "engine/base/Nearest.h"

#include <algorithm>
#include <cctype>

namespace lockstep::base {
namespace {

// No name is longer than 80 characters, and the cost grows with the product of the lengths.
std::string normalised(std::string_view text) {
  std::string result(text.substr(0, 80));
  for (char& c : result) {
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

}  // namespace

std::size_t editDistance(std::string_view a, std::string_view b) {
  // By rows of the table of distances between beginnings of both (Wagner and Fischer 1974). Of the
  // table only three rows are kept: a swap of neighbours looks two back.
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

std::optional<std::size_t> unlikeness(std::string_view text, std::string_view candidate) {
  const std::string a = normalised(text);
  const std::string b = normalised(candidate);
  const std::size_t distance = editDistance(a, b);
  // A word cut short is far by edits and near by meaning: "batch" for "batch_size".
  if (a.size() >= 3 && (b.starts_with(a) || b.ends_with(a) || a.starts_with(b))) {
    return std::min<std::size_t>(2, distance);
  }
  const std::size_t limit = std::max<std::size_t>(1, std::min(a.size(), b.size()) / 3);
  return distance <= limit ? std::optional(distance) : std::nullopt;
}

std::string nearestOf(std::string_view text, const std::vector<std::string>& candidates) {
  std::optional<std::size_t> best;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const auto distance = unlikeness(text, candidate);
    if (distance && (!best || *distance < *best)) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace lockstep::base
