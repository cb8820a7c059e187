#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

/// One training step of one rank; its overlap by Note [Overlap] in RankActivity.h.
struct StepTimes {
  int rank = 0;
  std::uint32_t step = 0;
  std::uint64_t startTicks = 0;
  std::uint64_t endTicks = 0;
  double stepMs = 0;
  double forwardMs = 0;
  double backwardMs = 0;
  double optimizerMs = 0;
  double inFlightMs = 0;
  double computingMs = 0;
  double overlapMs = 0;
  double exposedMs = 0;
  double offCoreMs = 0;       ///< of its work: ready, and without a core
  double coreWaitMs = 0;      ///< ready and without a core in the whole step
  double stolenMs = 0;        ///< a hypervisor may have taken of it, at the mean of the whole run
  double overlapLeastMs = 0;  ///< OverlapBounds: where its waits for a core are not known to the
  double overlapMostMs = 0;   ///< moment, overlapMs is one of what it may be
  std::optional<double> overlapPercent;  ///< none: nothing was in flight
  bool incomplete = false;               ///< events of this rank were dropped in this step
};

/// Returns one entry for each kStep span, sorted by rank, then start.
std::vector<StepTimes> stepTimes(const RunData& data);

/// Returns what a hypervisor took over the whole run of the core that lost most, on the machine
/// that lost most; none where nothing is known of it.
std::optional<double> stolenPercent(const RunData& data);

}  // namespace lockstep::analysis
