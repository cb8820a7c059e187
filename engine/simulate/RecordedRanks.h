#pragma once

#include <cstddef>
#include <vector>

#include "engine/cost/StepRecord.h"
#include "engine/simulate/RankNoise.h"

namespace lockstep::simulate {

/// What each rank of a recording did by itself in one step; ns from the begin of its step, as far
/// as its own work, its habits and the order of its buckets make it.
struct OwnStep {
  double gapNs = 0;           ///< began so much later after the step before than the first rank did
  double lastGradientNs = 0;  ///< from then on its backward had nothing left to compute
  double lastLaunchNs = 0;
  double waitsNs = 0;  ///< from then on its step thread waits for results
  double afterNs = 0;  ///< from the last result to the end of the step
  double idlePart =
      0;  ///< of the time from its first bucket to its last gradient it did not compute
};

/// A recording in plain arrays, for many ranks to be made of. An own step has the number
/// `rank * steps + step`.
struct RecordedRanks {
  std::size_t ranks = 0;
  std::size_t steps = 0;
  std::size_t buckets = 0;
  std::size_t lanes = 0;        ///< the buckets, rounded up to a multiple of kLanes
  std::vector<double> beganNs;  ///< by own step, then by bucket (`lanes`), from the step's begin
  std::vector<OwnStep> own;
  std::vector<double> bytes;             ///< by bucket
  std::vector<double> copyOutNsPerByte;  ///< by rank
  std::vector<double> resultDelayNs;     ///< by rank, from the end of a transfer to its copy-out
  std::vector<cost::TransferCost> decode;  ///< by rank: cost::RankHabits::decode

  [[nodiscard]] OwnWork ownWork() const;
};

/// A loop over buckets goes so many at a time, which lets compilers use vectors.
inline constexpr std::size_t kLanes = 4;

/// `steps`: of the same ranks and buckets, at least one; `habits` by rank.
RecordedRanks recordedRanks(const std::vector<cost::StepRecord>& steps,
                            const std::vector<cost::RankHabits>& habits);

}  // namespace lockstep::simulate
