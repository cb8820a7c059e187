#pragma once

#include <cstdint>
#include <vector>

#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

/// One rank's part in one collective.
struct Arrival {
  int rank = 0;
  std::uint64_t startTicks = 0;  ///< this rank arrived
  std::uint64_t endTicks = 0;
  double waitingMs = 0;   ///< from its arrival to the last rank's
  double transferMs = 0;  ///< from the last arrival to its end
};

/// One collective seen on all ranks. Outer times hide stragglers, because all ranks leave
/// together: the arrivals tell who was waited for.
struct CollectiveTimes {
  std::uint8_t group = 0;
  std::uint64_t sequence = 0;  ///< of the group; the file's 24 bits continued beyond their wrap
  trace::Operation operation = trace::Operation::kNone;
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint64_t bytes = 0;
  std::vector<Arrival> arrivals;  ///< by rank
  int lastRank = 0;               ///< who arrived last
  double skewMs = 0;              ///< from the first arrival to the last
};

/// Returns the collectives that at least two ranks took part in, by group and sequence.
/// Sends and receives are left out: their numbers are not those of the other side. Ranks must
/// share one clock.
std::vector<CollectiveTimes> collectiveTimes(const RunData& data);

}  // namespace lockstep::analysis
