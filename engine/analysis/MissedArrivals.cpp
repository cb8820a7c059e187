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

std::optional<std::map<int, std::uint64_t>> missedArrivals(
    const std::vector<const CollectiveTimes*>& ofStep, Doubtful doubtful) {
  std::map<int, Missed> ranks;
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
    for (const Arrival& arrival : collective->arrivals) {
      const Interval missed{first->startTicks, arrival.startTicks};
      Missed& rank = ranks[arrival.rank];
      if (collective->bucket == trace::kNoBucket) {
        rank.calls.push_back(missed);
      } else if (missed.end - missed.begin > rank.bucket.end - rank.bucket.begin) {
        rank.bucket = missed;
      }
    }
  }
  std::map<int, std::uint64_t> ticks;
  for (auto& [rank, missed] : ranks) {
    missed.calls.push_back(missed.bucket);
    // Collectives overlap, and what was missed of several at once counts once: hence the union.
    ticks[rank] = length(unite(std::move(missed.calls)));
  }
  return ticks;
}

}  // namespace lockstep::analysis
