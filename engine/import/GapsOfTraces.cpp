#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/import/JoinTraces.h"

namespace lockstep::imports {
namespace {

constexpr std::size_t kMostNamed = 4;

/// Iterations on both sides of each gap of a rank.
using Places = std::vector<std::optional<std::pair<std::uint32_t, std::uint32_t>>>;

struct Length {
  std::int64_t shortestNs = std::numeric_limits<std::int64_t>::max();
  std::int64_t longestNs = 0;

  [[nodiscard]] std::string text() const {
    const auto seconds = [](std::int64_t ns) {
      return fmt::format("{:.3f}", static_cast<double>(ns) / 1e9);
    };
    const std::string from = seconds(shortestNs);
    const std::string to = seconds(longestNs);
    return (from == to ? from : from + " to " + to) + " s";
  }
};

struct Alike {
  std::vector<int> ranks;
  std::vector<Length> lengths;
};

std::string textOf(const Places& places, const std::vector<Length>& lengths) {
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(places.size(), kMostNamed); ++i) {
    named.push_back(lengths[i].text());
    if (places[i]) {
      named.back() +=
          fmt::format(" between iterations {} and {}", places[i]->first, places[i]->second);
    }
  }
  const std::size_t more = places.size() - named.size();
  return fmt::format("{}{}", fmt::join(named, ", "),
                     more == 0 ? "" : fmt::format(", and {} times more", more));
}

}  // namespace

// Ranks whose gaps lie between the same iterations share one sentence. Their lengths differ a
// little, so the sentence has the shortest and the longest of each.
std::vector<JobProblem> gapsOf(const Job& job) {
  std::map<Places, Alike> found;
  for (const auto& [rank, here] : job) {
    if (here.gaps.empty()) {
      continue;
    }
    Places places;
    for (const TraceGap& gap : here.gaps) {
      places.push_back(gap.between);
    }
    Alike& alike = found[places];
    alike.ranks.push_back(rank);
    alike.lengths.resize(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      alike.lengths[i].shortestNs = std::min(alike.lengths[i].shortestNs, here.gaps[i].ns);
      alike.lengths[i].longestNs = std::max(alike.lengths[i].longestNs, here.gaps[i].ns);
    }
  }
  std::vector<JobProblem> problems;
  for (const auto& [places, alike] : found) {
    const bool all = alike.ranks.size() == job.size();
    const std::string whose = all ? "each rank" : base::ranksText(alike.ranks);
    problems.push_back(
        {"warning", all ? -1 : alike.ranks.front(),
         fmt::format("of {} there are {} traces, one behind the other, and nothing was "
                     "recorded between them: {}",
                     whose, places.size() + 1, textOf(places, alike.lengths))});
  }
  return problems;
}

}  // namespace lockstep::imports
