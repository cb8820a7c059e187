#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/BucketLife.h"
#include "engine/base/Result.h"
#include "engine/cost/StepRecord.h"

namespace lockstep::analysis {

/// Where a step's axis has its 0, and how long a tick is.
struct StepAxis {
  std::uint64_t originTicks = 0;
  double nsPerTick = 1;

  [[nodiscard]] double ns(std::uint64_t ticks) const {
    return static_cast<double>(static_cast<std::int64_t>(ticks - originTicks)) * nsPerTick;
  }
};

/// Returns a step as a replay takes it (Note [The replay of a step]). `orders` and `lives` are
/// readyOrders() and bucketLives() of the same. Error: a clause, where not every rank recorded
/// every gradient of the buckets, the communication of every bucket, and the step itself.
/// [any-thread]
base::Result<cost::StepRecord> stepRecord(const std::vector<RankSpans>& ranks, std::uint32_t step,
                                          const trace::BucketsMessage& layout,
                                          const std::vector<ReadyOrder>& orders,
                                          const std::vector<BucketLife>& lives,
                                          const StepAxis& axis);

/// Returns which part of a bucket's bytes its communication hands over, where that is one allreduce
/// of the same part for all buckets of the step; else nothing.
std::optional<double> allreducedShare(const std::vector<RankSpans>& ranks, std::uint32_t step,
                                      const trace::BucketsMessage& layout);

}  // namespace lockstep::analysis
