#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::analysis {

/// The spans of one rank, in any order; those of other steps may be among them.
struct RankSpans {
  int rank = 0;
  std::vector<trace::SpanRow> spans;
};

/// When one rank had the gradient of one parameter in one step.
struct ReadyGradient {
  std::uint32_t parameter = 0;
  std::uint64_t ticks = 0;  ///< the last time in the step: static_graph counts several
  std::int64_t spanId = -1;
  std::uint16_t bucket = trace::kNoBucket;  ///< in the layout; none: it has no place in a bucket
  bool unused = false;                      ///< counted as ready without a gradient
  bool againstBuckets = false;              ///< out of place, in the order of the buckets
  bool againstRegistration = false;         ///< the same, in the reverse of the registration
  bool againstFirstRank = false;            ///< the same, in the order of the first rank
};

/// Note [Out of place]
/// A parameter is out of place where the others already stand in the expected order without it:
/// marked are the fewest that would have to move (those outside a longest rising subsequence).
/// Inside a bucket any order is as good as another, since it is launched as one.
struct ReadyOrder {
  int rank = 0;
  std::vector<ReadyGradient> gradients;  ///< by time
  std::uint32_t againstBuckets = 0;      ///< how many are out of place
  std::uint32_t againstRegistration = 0;
  std::uint32_t againstFirstRank = 0;
};

/// Returns the order in which each rank's gradients became ready in `step`, one entry for each of
/// `ranks`; without gradients where a rank recorded none. `layout` may be null: then no parameter
/// has a bucket. [any-thread]
std::vector<ReadyOrder> readyOrders(const std::vector<RankSpans>& ranks, std::uint32_t step,
                                    const trace::BucketsMessage* layout);

/// Says for each number whether it lies outside one longest subsequence that never falls.
std::vector<bool> outOfPlace(const std::vector<std::uint32_t>& numbers);

}  // namespace lockstep::analysis
