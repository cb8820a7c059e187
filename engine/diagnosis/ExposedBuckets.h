#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "engine/analysis/StepOverlap.h"

namespace lockstep::diagnosis {

/// What the communication of a bucket costs a rank, over its measured steps.
struct ExposedBucket {
  int rank = 0;
  std::uint16_t bucket = 0;
  double ms = 0;  ///< exposed in a step, the mean over all measured steps of the rank
  /// The part that has most of one cause, where it was largest.
  analysis::TailItem worst;
};

/// The exposed time of each rank's buckets by cause (Note [Tail]), step after step. A copy costs as
/// much as there are ranks, buckets and causes.
class ExposedBuckets {
 public:
  /// Adds steps that have their tails, none of them among those that are here. Those before
  /// `firstMeasured`, incomplete ones and those that were kept for what they are are left out.
  void add(std::span<const analysis::StepOverlap> steps, std::uint32_t firstMeasured);
  /// Returns the bucket that costs a rank most; none: nothing of a bucket is exposed.
  [[nodiscard]] std::optional<ExposedBucket> most() const;

 private:
  struct Part {
    double ms = 0;
    analysis::TailItem worst;
  };
  using Place = std::pair<int, std::uint16_t>;  // rank and bucket

  std::map<int, std::uint32_t> steps_;  // by rank
  std::map<Place, std::map<analysis::TailCause, Part>> parts_;
};

}  // namespace lockstep::diagnosis
