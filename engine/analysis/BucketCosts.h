#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/analysis/StepOverlap.h"

namespace lockstep::analysis {

// Note [What a bucket costs]
// The part of a rank's exposed time that Note [Tail] gives to the bucket. Each moment is given away
// once, so that what all buckets of a rank cost is no more than what it has exposed; what is
// exposed of a bucket (BucketMeasure::kExposed) counts a moment for each bucket that is in flight
// then. The mean is over all measured steps of the rank, whether the bucket was communicated in
// them or not.
// Whoever names the bucket that costs most, names BucketCosts::most(), and why as
// BucketCost::explained says: the verdict (diagnosis/Verdict.h), and the headline over rank by
// bucket (diagnosis/CostliestBucket.h). A reason is that cause of Note [Tail] which has at least
// half of the cost; where none has, the two largest are named with their shares. Of late ranks each
// is a cause of its own.

/// Of a cost, what a cause must have to be named as the reason.
inline constexpr double kMostOfCost = 0.5;
/// Of the cost of the rank that has most, what is as much to the reader: no rank is singled out.
inline constexpr double kAsMuch = 0.95;

/// What the communication of a bucket costs a rank, over its measured steps.
struct BucketCost {
  int rank = 0;
  std::uint16_t bucket = 0;
  double ms = 0;  ///< a step, the mean over all measured steps of the rank
  /// The part that has most of one cause, where it was largest.
  TailItem worst;
  double share = 0;  ///< of the cost, that cause's, 0..1
  /// Likewise of the cause that has the most after it; no share: it is the only one.
  TailItem next = {};
  double nextShare = 0;
  std::uint32_t struck = 0;  ///< steps in which that cause had kLateMs or more of it
  std::uint32_t steps = 0;   ///< all measured ones of the rank
  bool everywhere = false;   ///< it costs each rank of several at least kAsMuch of that

  /// Whether the cause of `worst` is the reason of the cost.
  [[nodiscard]] bool explained() const { return share >= kMostOfCost; }
  /// The late rank that is the reason; none: something else is, or nothing.
  [[nodiscard]] std::optional<int> lateRank() const {
    return explained() && worst.cause == TailCause::kLateRank ? std::optional(worst.peer)
                                                              : std::nullopt;
  }
};

/// What buckets cost the ranks, step after step. A copy costs as much as there are ranks, buckets
/// and causes.
class BucketCosts {
 public:
  /// Whether means have this step: it is measured and complete, and was not kept for what it is.
  [[nodiscard]] static bool counts(const StepOverlap& step, std::uint32_t firstMeasured);

  /// Adds steps that have their tails, none of them among those that are here.
  void add(std::span<const StepOverlap> steps, std::uint32_t firstMeasured);
  /// Calls what is TailCause::kMuchTransfer of all that were added by its name: toldTransfer().
  void tellTransfer(TailCause told);
  /// Adds those of another, of other ranks.
  void add(BucketCosts other);
  /// Of a rank, how many steps count.
  [[nodiscard]] std::uint32_t steps(int rank) const;
  /// A step; none: no step of the rank counts.
  [[nodiscard]] std::optional<double> meanMs(int rank, std::uint16_t bucket) const;
  /// Returns the bucket that costs a rank most; none: no bucket costs anything.
  [[nodiscard]] std::optional<BucketCost> most() const;

 private:
  struct Part {
    double ms = 0;
    TailItem worst;
    std::uint32_t struck = 0;
    std::optional<std::uint32_t> lastStruck;  // of a step several items count once
  };
  using Cause = std::pair<TailCause, int>;  // and which rank, where it is a late one
  struct Sum {
    double ms = 0;
    std::map<Cause, Part> causes;
  };
  using Place = std::pair<int, std::uint16_t>;  // rank and bucket

  std::map<int, std::uint32_t> steps_;  // by rank
  std::map<Place, Sum> sums_;
};

/// What buckets cost one rank in each of its steps.
class StepCosts {
 public:
  struct Cost {
    double ms = 0;
    bool counts = false;  ///< BucketCosts::counts
  };

  /// Adds steps that have their tails, by start, later than those that are here.
  void add(std::span<const StepOverlap> steps, std::uint32_t firstMeasured);
  /// None: it is not known, since events were dropped or left out, or the step has not ended.
  [[nodiscard]] std::optional<Cost> of(std::uint32_t step, std::uint16_t bucket) const;

 private:
  struct Step {
    std::uint32_t step = 0;
    bool counts = false;
    std::size_t first = 0;  // of its parts, which go on to those of the next step
  };

  std::vector<Step> steps_;
  std::vector<std::pair<std::uint16_t, float>> parts_;  // bucket and ms; of a bucket several
};

}  // namespace lockstep::analysis
