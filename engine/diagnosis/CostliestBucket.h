#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/analysis/BucketDelays.h"
#include "engine/analysis/RunAnalysis.h"

namespace lockstep::diagnosis {

// Note [The costliest bucket]
// Of all cells of rank x bucket that which costs its rank most a step: BucketCosts::most(), the
// mean over the measured steps, since a median would hide what strikes every fifth step. Something
// is said of it
//   - where it is beyond chance: the interval of that mean (BlockBootstrap.h), of 99 % over all
//     cells together, lies above kWorthSpeakingOf of a step;
//   - of a rank that is waited for, only where that one is late by Note [Lateness], most of the
//     cost was waiting for it, and this too lies above that share of a step.
// What of the cost was waiting is known from below: the transfer begins when the last rank has
// come, so that what is paid beyond the transfer was waited. Likewise what is paid beyond the
// waiting is transfer. Where neither is half of the cost, no reason is given. "Late in n of m
// iterations": it was the last to come to the bucket, and the rank in question waited kLateMs or
// longer.

/// Of all cells of rank x bucket that which costs most.
struct CostliestBucket {
  /// What most of the cost is.
  enum class Why : std::uint8_t {
    kLateRank,    ///< waiting for `late`
    kOtherRanks,  ///< waiting, of nobody in particular
    kTransfer,
    kUnclear,
  };
  int rank = 0;
  int bucket = 0;
  double ms = 0;  ///< a step, the mean
  Why why = Why::kUnclear;
  int late = 0;
  std::uint32_t lateSteps = 0;
  std::uint32_t steps = 0;  ///< measured ones of this bucket on this rank
  bool judged = false;      ///< kOtherRanks: nobody is late beyond chance
  double transferMs = 0;    ///< kTransfer: a step, the mean
};

/// What there is to say of rank x bucket.
struct BucketVerdict {
  std::optional<CostliestBucket> costliest;  ///< none: nothing is beyond chance
  std::uint32_t steps = 0;                   ///< measured ones, of the cell that has most
  bool canTell = false;                      ///< these are enough to tell a cost from chance
};

/// `delays` are those of `run`, and have a cell. [any-thread]
BucketVerdict bucketVerdict(const analysis::BucketDelays& delays, const analysis::RunAnalysis& run);

/// Returns "Bucket 5 costs most, 7.20 ms a step on rank 0: it waits for rank 1, which is late in
/// 183 of 270 iterations", or why no bucket is named.
std::string textOf(const BucketVerdict& verdict);

}  // namespace lockstep::diagnosis
