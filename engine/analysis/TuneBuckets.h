#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/analysis/WhatIfCap.h"
#include "engine/base/Result.h"

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
// A gradient counts as ready when the last rank has it: the fastest would otherwise be tuned for.
// As in a forecast (Note [What if the cap were another]), computing is taken not to change.
//
// All functions here are pure. [any-thread] Ticks are those of the host; bytes are those of the
// gradients. A cut has no empty bucket and takes every gradient.

/// One gradient, in the order of the buckets.
struct TimedGradient {
  std::uint64_t bytes = 0;
  double readyTicks = 0;  ///< never less than that of the one before
};

/// How many gradients each bucket has; buckets in their order.
using BucketCut = std::vector<std::size_t>;

/// What a run says about its gradients and its communication.
struct GradientTimeline {
  std::vector<TimedGradient> gradients;
  BucketCut cut;                    ///< of the run itself
  std::vector<CostSample> samples;  ///< of its buckets, without what they queued for each other
  std::size_t steps = 0;            ///< that all ranks recorded whole
  double afterTicks = 0;  ///< median from the last gradient to the last bucket's end, as measured
};

/// Returns the medians over some steps, given by their number. Errors, each a sentence: the
/// gradients are not all dense and of one dtype, the buckets were never rebuilt, or no step was
/// recorded whole by all ranks.
base::Result<GradientTimeline> gradientTimeline(
    const std::map<std::uint32_t, std::vector<RankSpans>>& steps,
    const trace::BucketsMessage& layout,
    const std::vector<trace::ParametersMessage::Parameter>& parameters);

/// Returns what the model says of a cut, in ticks: from the last gradient to the last bucket's end.
double afterLastGradient(const std::vector<TimedGradient>& gradients, const BucketCut& cut,
                         const CommunicationCost& cost);

BucketCut exactCut(const std::vector<TimedGradient>& gradients, const CommunicationCost& cost);
BucketCut mgWfbpCut(const std::vector<TimedGradient>& gradients, const CommunicationCost& cost);

/// Returns the bytes of each bucket: as BucketCaps::list they make a rebuild in this order cut so.
std::vector<std::uint64_t> bytesOf(const std::vector<TimedGradient>& gradients,
                                   const BucketCut& cut);

}  // namespace lockstep::analysis
