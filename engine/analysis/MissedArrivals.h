#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/analysis/CollectiveTimes.h"

namespace lockstep::analysis {

/// Collectives of one step, where they lie.
using CollectivesOfStep = std::span<const CollectiveTimes* const>;

/// Calls `take` with each step, which ascend, and its collectives in their order.
template <typename Collectives, typename Take>
void eachStepOf(const Collectives& collectives, const Take& take) {
  std::vector<const CollectiveTimes*> all;
  all.reserve(collectives.size());
  for (const CollectiveTimes& collective : collectives) {
    all.push_back(&collective);
  }
  const auto stepOf = [](const CollectiveTimes* of) { return of->step; };
  // Those of one group come in the order of their steps.
  if (!std::ranges::is_sorted(all, {}, stepOf)) {
    std::ranges::stable_sort(all, {}, stepOf);
  }
  for (auto first = all.begin(); first != all.end();) {
    const std::uint32_t step = (*first)->step;
    const auto end = std::ranges::upper_bound(first, all.end(), step, {}, stepOf);
    take(step, CollectivesOfStep(first, end));
    first = end;
  }
}

/// Whether collectives count of which the hosts' clocks cannot tell who came last.
enum class Doubtful : std::uint8_t { kLeftOut, kCounted };

/// How much of a step each rank missed, in ticks, by rank: collectives whose first rank had come,
/// and it had not. What is counted of a step's buckets and other collectives: Note [Lateness].
/// None: a rank has no record of one of them, and nobody can be judged, since it may have been the
/// one to which the late rank came last.
std::optional<std::vector<std::pair<int, std::uint64_t>>> missedArrivals(CollectivesOfStep ofStep,
                                                                         Doubtful doubtful);

}  // namespace lockstep::analysis
