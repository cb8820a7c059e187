#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

/// One rank's part in one collective.
struct Arrival {
  int rank = 0;
  std::uint64_t startTicks = 0;  ///< this rank arrived
  std::uint64_t endTicks = 0;
  /// When all ranks had come, at most its end. Its own arrival where the last rank, on another
  /// host, came so little later that the clocks cannot tell. 0 when a rank is missing.
  std::uint64_t allThereTicks = 0;
  double waitingMs = 0;   ///< from its arrival until all had come; 0 when that is unknown
  double transferMs = 0;  ///< from then on to its end; 0 when that is unknown
};

/// One collective seen on several ranks. Outer times hide stragglers, because all ranks leave
/// together: the arrivals tell who was waited for. They tell nothing while a rank is missing,
/// whose record was dropped or is not here yet: it may have been the last. Nor do they tell who
/// was last among ranks of different hosts that came within the doubt of their clocks.
struct CollectiveTimes {
  std::uint8_t group = 0;
  std::uint64_t sequence = 0;  ///< of the group; the file's 24 bits continued beyond their wrap
  trace::Operation operation = trace::Operation::kNone;
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint64_t bytes = 0;
  std::vector<Arrival> arrivals;  ///< by rank
  bool complete = false;          ///< no rank of the group is missing
  std::optional<int> lastRank;    ///< who arrived last; none: not complete, or clocks cannot tell
  double skewMs = 0;              ///< from the first arrival to the last that is known
};

/// Returns the collectives that at least two ranks took part in, by group and sequence. A group's
/// ranks are those that recorded any of its collectives. A checked collective begins with its
/// comparison, since that is where ranks wait for each other. Sends and receives are left out:
/// their numbers are not those of the other side.
std::vector<CollectiveTimes> collectiveTimes(const RunData& data);

/// Returns the comparisons of checked calls, on the same terms. Their waitingMs is no cost of the
/// check, since the call waits for its last rank in any case; their transferMs is the check's own
/// work. Their numbers are those of the wrapper.
std::vector<CollectiveTimes> checkTimes(const RunData& data);

}  // namespace lockstep::analysis
