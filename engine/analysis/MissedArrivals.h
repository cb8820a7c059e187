#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/analysis/CollectiveTimes.h"

namespace lockstep::analysis {

/// The collectives of each step, in their order, where they lie.
template <typename Collectives>
std::map<std::uint32_t, std::vector<const CollectiveTimes*>> collectivesByStep(
    const Collectives& collectives) {
  std::map<std::uint32_t, std::vector<const CollectiveTimes*>> steps;
  for (const CollectiveTimes& collective : collectives) {
    steps[collective.step].push_back(&collective);
  }
  return steps;
}

/// Whether collectives count of which the hosts' clocks cannot tell who came last.
enum class Doubtful : std::uint8_t { kLeftOut, kCounted };

/// How much of a step each rank missed, in ticks, by rank: collectives whose first rank had come,
/// and it had not. What is counted of a step's buckets and other collectives: Note [Lateness].
/// None: a rank has no record of one of them, and nobody can be judged, since it may have been the
/// one to which the late rank came last.
std::optional<std::vector<std::pair<int, std::uint64_t>>> missedArrivals(
    const std::vector<const CollectiveTimes*>& ofStep, Doubtful doubtful);

}  // namespace lockstep::analysis
