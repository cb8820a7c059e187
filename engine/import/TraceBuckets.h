#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/import/HostCalls.h"
#include "engine/import/TraceSteps.h"
#include "engine/trace/Messages.h"

namespace lockstep::imports {

/// A bucket in one backward.
struct TraceBucket {
  std::size_t call = 0;                  ///< index into the calls: its collective
  std::vector<std::uint32_t> gradients;  ///< indices into TraceBackward::gradients
};

/// The buckets of one backward, which may have none (no_sync, no DistributedDataParallel).
struct BackwardBuckets {
  std::vector<TraceBucket> buckets;
  /// Which parameter each gradient is of; empty where that cannot be told.
  std::vector<std::uint32_t> parameters;
};

/// Of how many of all a sentence is true.
struct NoteCount {
  std::size_t some = 0;
  std::size_t all = 0;
};
/// Sentences with {0} and {1} for the two.
using NoteCounts = std::map<std::string, NoteCount>;

struct TraceBuckets {
  std::vector<BackwardBuckets> backwards;  ///< one for each of TraceSteps::backwards
  std::vector<trace::ParametersMessage::Parameter> parameters;
  std::vector<trace::BucketsMessage> layouts;
  std::set<std::string> notes;
  NoteCounts counts;
};

// Note [Buckets of a trace]
// DistributedDataParallel launches a bucket from within the hook of a gradient, so that a
// collective that was asked for inside an AccumulateGrad is a bucket's, and the n-th of a backward
// that of bucket n; but for one of whole numbers, the map of used parameters. A bucket holds the
// gradients that were ready since the launch before. Where shapes were recorded that is checked:
// the elements of a bucket's gradients are those of its collective. Where they are not (a hook that
// compresses, gradients that came in another order than the buckets have), no gradient is said to
// be in a bucket. A trace does not name parameters: they are numbered in the order in which their
// gradients were ready in the first backward with buckets; a later one whose gradients are others,
// as far as their number and shapes tell, is left without numbers.
/// The AccumulateGrad within the evaluation of a gradient; null: there is no record of it.
const HostOp* accumulateOf(const TraceBackward& backward, const HostOp& gradient);

/// Keeps a layout, as the next one, where it is another than the last; says so in `notes` where
/// there are too many.
void keepLayout(std::vector<trace::BucketsMessage>& kept, trace::BucketsMessage layout,
                std::set<std::string>& notes);

TraceBuckets bucketsOf(const TraceSteps& steps, const std::vector<Call>& calls);

}  // namespace lockstep::imports
