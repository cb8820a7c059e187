#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/diagnosis/Evidence.h"
#include "engine/diagnosis/Finding.h"

namespace lockstep::diagnosis {

// Note [Verdict]
// What a reader asks of any run before anything else, answered in a clause each, whether there is a
// finding about it or not: is it right, what costs most, whom do the others wait for, how much is
// hidden, which step was the slowest and why. A remark accuses nobody beyond what the analysis
// says: "late" is Note [Lateness], and why a bucket costs what it does is reasonText()
// (CostliestBucket.h).

/// What a remark is about.
enum class Topic : std::uint8_t {
  kReplicas,  ///< whether all ranks hold the same parameters
  kCost,      ///< the bucket whose communication costs a rank most
  kLate,      ///< the rank that the others wait for
  kOverlap,   ///< how much communication is hidden
  kSlowest,   ///< the longest measured step
};

struct Remark {
  Topic topic = Topic::kReplicas;
  std::string text;       ///< "rank 1 is late in 183 of 270 steps": a clause, without a full stop
  std::string brief;      ///< the same in fewer words
  Place place;            ///< where it is seen best
  std::string bare = {};  ///< the brief one without its reason; empty: it gives none
};

/// Returns a remark on each topic of which the run knows anything, in their order.
std::vector<Remark> verdictOf(const Evidence& evidence);

/// Returns what a run is: "mlp, 2 ranks, gloo, hook powersgd"; of what it does not tell nothing.
std::string subjectOf(const trace::RunInfo& info, const std::vector<trace::RankInfo>& ranks);

}  // namespace lockstep::diagnosis
