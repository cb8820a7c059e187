#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/StepOverlap.h"

namespace lockstep::analysis {

// Note [Headroom]
// With forward f, backward b (both: computing only) and data on its way c, a step without any
// overlap takes f + b + c beside its rest, and overlap can hide min(b, c) of it: the headroom,
// less than half of the three. Of that a part is hidden already. Less exposed transfer than none is
// not to be had: the step less all of it is the noop bound. Waiting is in the bound: a rank that
// others wait for sets the pace of all, whatever a transfer takes, and who has no core would have
// none without communication either. Where waiting and transfer cannot be told apart, both count as
// transfer. By PyTorch's rule of thumb communication is not the bottleneck where the bound is less
// than 10 % faster. It is one, or is none, only where chance (the interval of the mean, 99 % over
// all ranks), what the ranks waited for cores, which makes transfers longer and hides them, and a
// quarter of it, by which runs of one experiment differ, leave no doubt.

/// Medians over steps of one rank.
struct RankOverlap {
  int rank = 0;
  std::uint32_t steps = 0;
  double stepMs = 0;
  double forwardMs = 0;  ///< whole phases, waits included, as StepTimes has them
  double backwardMs = 0;
  double optimizerMs = 0;
  std::optional<double> overlapPercent;  ///< none: nothing was in flight, here and below
  std::optional<double> inFlightMs;
  std::optional<double> exposedMs;
  std::optional<double> waitingMs;        ///< exposed
  std::optional<double> transferMs;       ///< exposed
  double idleMs = 0;                      ///< StepOverlap::idleMs
  double noopMs = 0;                      ///< the step less its exposed transfer
  double noopFasterPercent = 0;           ///< 100 * (stepMs / noopMs - 1)
  std::optional<bool> bottleneck;         ///< whether transfer is one; none: it cannot be told
  double coreWaitMs = 0;                  ///< the longest of any rank in a step
  std::optional<double> headroomMs;       ///< min(b, c); none where c is unknown, here and below
  std::optional<double> headroomPercent;  ///< 100 * min(b, c) / (f + b + c)
  std::optional<double> hiddenMs;         ///< of c
  std::optional<double> perfectMs;        ///< the step if all of the headroom were hidden
};

/// Returns one entry a rank over its steps from `firstStep` on; steps in which events were dropped
/// are left out, and ranks without any other.
std::vector<RankOverlap> rankOverlaps(const std::vector<StepOverlap>& steps,
                                      std::uint32_t firstStep);

}  // namespace lockstep::analysis
