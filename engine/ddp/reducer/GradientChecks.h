#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ddp/Bucket.h"
#include "engine/ddp/GradientTally.h"
#include "engine/ddp/reducer/ReducerContext.h"

namespace lockstep::ddp {

/// Measures this rank's gradients as they go into their buckets, in every k-th iteration
/// (ReducerOptions::gradientCheckEvery). Guarded by the Reducer's mutex.
class GradientChecks {
 public:
  explicit GradientChecks(ReducerContext& context) : context_(context) {}

  /// At the start of an iteration that reduces this number of buckets.
  void begin(std::size_t buckets);
  /// Right after the copy into the bucket, while what was copied is still in the cache. `number`:
  /// the bucket's; none for a deferred parameter. `shares`: the copy was divided, and is measured
  /// as if it were not.
  void measure(std::size_t index, const Bucket& bucket, std::size_t slot,
               std::optional<std::size_t> number, bool shares);
  /// At the end. `deferred`: there are deferred parameters.
  void send(bool deferred);

 private:
  [[nodiscard]] bool isDue();

  ReducerContext& context_;
  std::optional<std::int64_t> reducedPeriod_;  // of gradientCheckEvery, at the last reduction
  std::vector<GradientTally> tallies_;  // by bucket, then the deferred; none: not in this step
};

}  // namespace lockstep::ddp
