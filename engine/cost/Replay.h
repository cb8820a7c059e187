#pragma once

#include <cstdint>
#include <vector>

#include "engine/cost/StepRecord.h"

namespace lockstep::cost {

// Note [The replay of a step]
// One measured step with other buckets. Kept as it was measured: when each gradient lay in its
// bucket on each rank, when each rank computed, when the step thread began to wait, and what came
// after the last bucket. Computed anew, for the buckets in the order of their launch:
//   full      when the last of its gradients was there
//   launched  the later of full and the launch of the bucket before, plus a habit of the rank
//   began     launched, plus a habit, and what another hook works before it
//   met       when the last rank had begun
//   due       the line carries it from met on, and from when it is free of those before (Line)
//   ended     due, plus the notice of the line
//   copied    each rank's step thread takes the results in turn, once a hook has worked on them
// Steps follow each other on each rank: who ends one later begins the next later, and then the
// others wait for it (ReplayedSteps). Where they had met between the two, to agree on something,
// they begin as they did. A step alone is replayed from where its ranks began it.
// Not in it: that communication slows computing down, and what each bucket costs the thread that
// computes. So a replay of the buckets that the step had says how far to trust one of others.

/// A bucket that a step is to have.
struct PlannedBucket {
  std::vector<std::uint32_t> parameters;
  std::uint64_t bytes = 0;
};

/// A bucket's moments on the last rank that came to each; ns on the axis of the step.
struct BucketMoments {
  double fullNs = 0;
  double launchedNs = 0;
  double beganNs = 0;
  double endedNs = 0;
};

/// What a step's communication comes to on one rank.
struct RankOutcome {
  double inFlightNs = 0;
  double exposedNs = 0;  ///< in flight while the rank did not compute (Note [Overlap])
  double stepNs = 0;
  double endNs = 0;  ///< on the axis of the step
};

struct StepOutcome {
  std::vector<BucketMoments> buckets;
  std::vector<RankOutcome> ranks;
};

/// Returns what was measured, in the terms of a replay.
StepOutcome measuredOutcome(const StepRecord& step);

/// The buckets of a step, as a plan.
std::vector<PlannedBucket> planOf(const StepRecord& step);

/// Returns what the step would have been with these buckets, which take every parameter that the
/// step's own take and no other; `habits` by rank. [any-thread]
StepOutcome replay(const StepRecord& step, const std::vector<RankHabits>& habits, const Line& line,
                   const std::vector<PlannedBucket>& plan);

/// Replays steps one after the other. A rank begins a step as long after the end of the one before
/// as it did; where that one is not the step before, at once; where the ranks met between the two
/// (metBetween), with the others as it did.
class ReplayedSteps {
 public:
  ReplayedSteps(const std::vector<RankHabits>& habits, const Line& line,
                const std::vector<PlannedBucket>& plan)
      : habits_(habits), line_(line), plan_(plan) {}

  StepOutcome next(const StepRecord& step) { return next(step, step); }
  /// The same where `changed` is the step that is to be replayed: how long after the one before
  /// a rank begins it is measured from `step`.
  StepOutcome next(const StepRecord& step, const StepRecord& changed);

 private:
  const std::vector<RankHabits>& habits_;
  const Line line_;
  const std::vector<PlannedBucket>& plan_;
  const StepRecord* before_ = nullptr;
  std::vector<double> endNs_;  // of that, by rank
};

}  // namespace lockstep::cost
