#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/analysis/BucketDelays.h"
#include "engine/analysis/RunAnalysis.h"

namespace lockstep::diagnosis {

// Note [The costliest bucket]
// Of all cells of rank x bucket that which costs its rank most a step: BucketCosts::most(), the
// mean over the measured steps, since a median would hide what strikes every fifth step. The
// headline over rank x bucket names it where it is beyond chance: the interval of that mean
// (BlockBootstrap.h), of 99 % over all cells together, lies above kWorthSpeakingOf of a step. Why
// it costs that, everyone says with reasonText().

/// What there is to say of rank x bucket.
struct BucketVerdict {
  std::optional<analysis::BucketCost> costliest;  ///< none: nothing is beyond chance
  std::uint32_t steps = 0;                        ///< measured ones, of the cell that has most
  bool canTell = false;                           ///< these are enough to tell a cost from chance
};

/// `delays` are those of `run`, and have a cell. [any-thread]
BucketVerdict bucketVerdict(const analysis::BucketDelays& delays, const analysis::RunAnalysis& run);

/// Returns why a bucket costs what it does, as it ends a sentence: ", because rank 1 is late";
/// where no cause is most of it, ", for several reasons: rank 1 is late (41 %), the link is slow
/// (35 %)"; empty where the causes are unknown.
std::string reasonText(const analysis::BucketCost& cost);

/// Returns "Bucket 5 costs most, 7.20 ms a step (mean) on rank 0, because rank 1 is late, in 183 of
/// 270 iterations", or why no bucket is named.
std::string textOf(const BucketVerdict& verdict);

}  // namespace lockstep::diagnosis
