#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/RecordedSteps.h"
#include "engine/base/Result.h"
#include "engine/cost/Replay.h"

namespace lockstep::analysis {

// Note [Tuned buckets]
// Given when each gradient is ready and what a bucket's communication costs, where should buckets
// end? The model: buckets of gradients that follow each other in the ready order, one in flight at
// a time, each sent once its last gradient is ready and the bucket before has arrived. With ready
// times r and bytes s, the last of buckets that end at i < j < ... ends at
//
//   F(j) = max(F(i), r_j) + cost(s_{i+1} + ... + s_j)
//
// exact     the smallest F of all cuts, by dynamic programming over i in O(n^2): an earlier end of
//           one bucket never makes a later one end later. Of the cuts that end as soon, one of
//           large buckets: each costs a rank something that the model does not know
// MG-WFBP   the greedy rule of Shi, Chu, Li, "MG-WFBP: Efficient Data Communication for Distributed
//           Synchronous SGD Algorithms", INFOCOM 2019: a gradient joins the next one if that is
//           ready before its own communication would be over, and either has to wait anyway or is
//           waited for less long than a latency. Where gradients come more densely than a latency
//           it merges all of them.
//
// A gradient counts as ready when the last rank has it in its bucket: the fastest would otherwise
// be tuned for. The rules know no more than this; what a cut really comes to is for a forecast to
// say (Note [The replay of a step]). As there, computing is taken not to change.
//
// All functions here are pure. [any-thread] Bytes are those of the gradients. A cut has no empty
// bucket and takes every gradient.

/// One gradient, in the order of the buckets.
struct TimedGradient {
  std::uint32_t parameter = 0;
  std::uint64_t bytes = 0;
  double readyNs = 0;  ///< never less than that of the one before
};

/// How many gradients each bucket has; buckets in their order.
using BucketCut = std::vector<std::size_t>;

/// Returns the gradients of some steps with the same buckets, ready at the medians over the steps
/// of the time since the first gradient of any rank. Errors, each a clause that ends "this run
/// cannot tell, because ...": the gradients are not all dense and of one dtype, the buckets were
/// never rebuilt, or there is no step.
base::Result<std::vector<TimedGradient>> timedGradients(const RecordedSteps& recorded);

/// Returns the cut of the run itself.
BucketCut ownCut(const trace::BucketsMessage& layout);

/// `mostBytes`: buckets of several gradients have no more; nothing: any number.
BucketCut exactCut(const std::vector<TimedGradient>& gradients, const cost::TransferCost& cost,
                   std::optional<std::uint64_t> mostBytes = std::nullopt);
BucketCut mgWfbpCut(const std::vector<TimedGradient>& gradients, const cost::TransferCost& cost);

/// Returns the buckets that a rebuild in this order makes of a cut, given the bytes of each as
/// BucketCaps::list.
std::vector<cost::PlannedBucket> planOf(const std::vector<TimedGradient>& gradients,
                                        const BucketCut& cut);

}  // namespace lockstep::analysis
