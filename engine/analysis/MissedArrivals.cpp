#include "engine/analysis/MissedArrivals.h"

#include <algorithm>
#include <utility>

#include "engine/analysis/Intervals.h"

namespace lockstep::analysis {
namespace {

struct Missed {
  std::vector<Interval> calls;
  Interval bucket;  // of the buckets that to which it came latest; empty: there was none
};

}  // namespace

std::optional<std::vector<std::pair<int, std::uint64_t>>> missedArrivals(CollectivesOfStep ofStep,
                                                                         Doubtful doubtful) {
  std::vector<std::pair<int, Missed>> ranks;  // by rank
  for (const CollectiveTimes* collective : ofStep) {
    if (!collective->complete) {
      return std::nullopt;
    }
    if (!collective->lastRank && doubtful == Doubtful::kLeftOut) {
      continue;
    }
    const auto first = std::min_element(
        collective->arrivals.begin(), collective->arrivals.end(),
        [](const Arrival& a, const Arrival& b) { return a.startTicks < b.startTicks; });
    std::size_t at = 0;  // arrivals are by rank, too
    for (const Arrival& arrival : collective->arrivals) {
      while (at < ranks.size() && ranks[at].first < arrival.rank) {
        ++at;
      }
      if (at == ranks.size() || ranks[at].first != arrival.rank) {
        ranks.emplace(ranks.begin() + static_cast<std::ptrdiff_t>(at), arrival.rank, Missed());
      }
      const Interval missed{first->startTicks, arrival.startTicks};
      Missed& rank = ranks[at].second;
      if (collective->bucket == trace::kNoBucket) {
        rank.calls.push_back(missed);
      } else if (missed.end - missed.begin > rank.bucket.end - rank.bucket.begin) {
        rank.bucket = missed;
      }
    }
  }
  std::vector<std::pair<int, std::uint64_t>> ticks;
  ticks.reserve(ranks.size());
  for (auto& [rank, missed] : ranks) {
    // Collectives overlap, and what was missed of several at once counts once: hence the union.
    if (!missed.calls.empty()) {
      missed.calls.push_back(missed.bucket);
    }
    ticks.emplace_back(rank, missed.calls.empty() ? missed.bucket.end - missed.bucket.begin
                                                  : length(unite(std::move(missed.calls))));
  }
  return ticks;
}

}  // namespace lockstep::analysis
