#pragma once

#include <optional>
#include <vector>

#include "engine/analysis/RankActivity.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"
#include "engine/analysis/StepTimes.h"
#include "engine/analysis/Tail.h"

namespace lockstep::analysis {

/// A step of one rank cut into parts that add up to it (Note [Overlap]), and why its exposed part
/// is there (Note [Tail]):
///   step = alone + overlap + exposed + other,
///   exposed = no core + waiting + transfer + undivided.
struct StepOverlap {
  StepTimes times;
  double aloneMs = 0;      ///< computing, nothing in flight
  double noCoreMs = 0;     ///< exposed, because this rank's step thread was ready and had no core
  double waitingMs = 0;    ///< exposed, for the last rank of a collective
  double transferMs = 0;   ///< exposed, once all had come
  double undividedMs = 0;  ///< exposed, of either kind: sends, receives, missing records, copies
  double otherMs = 0;      ///< neither computing nor in flight
  double idleMs = 0;       ///< in otherMs: the step thread waits for a bucket, nothing in flight
  double forwardComputingMs = 0;
  double backwardComputingMs = 0;
  /// Data on its way, hidden or not; none where it cannot be told from waiting.
  std::optional<double> carriedMs;
  double carriedExposedMs = 0;  ///< the part of it that is exposed
  std::vector<TailItem> tail;   ///< the largest first
};

/// Returns one entry for each of `run.steps()`, in their order. `run` is the analysis of `data`.
std::vector<StepOverlap> stepOverlaps(const RunData& data, const RunAnalysis& run);
/// The same where rankActivity() of the data is known already.
std::vector<StepOverlap> stepOverlaps(const RunData& data, const RunAnalysis& run,
                                      std::vector<RankActivity> activity);

}  // namespace lockstep::analysis
