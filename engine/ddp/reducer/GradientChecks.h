#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ddp/Bucket.h"
#include "engine/ddp/GradientTally.h"
#include "engine/ddp/reducer/ReducerContext.h"

namespace lockstep::ddp {

/// Measures this rank's gradients as they go into their buckets, and what the communication hook
/// made of each bucket, in every k-th iteration (ReducerOptions::gradientCheckEvery). Guarded by
/// the Reducer's mutex.
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
  /// What the hook gave back for bucket `number`, whose gradients are so many bytes. Returns false
  /// where this iteration is not checked.
  bool measureReduced(std::size_t number, const at::Tensor& result, std::uint64_t bytes);
  /// At the end. `deferred`: there are deferred parameters.
  void send(bool deferred);

 private:
  [[nodiscard]] bool isDue();

  ReducerContext& context_;
  std::optional<std::int64_t> reducedPeriod_;  // of gradientCheckEvery, at the last reduction
  std::vector<GradientTally> tallies_;  // by bucket, then the deferred; none: not in this step

  struct Reduced {
    GradientTally tally;
    std::optional<std::uint64_t> hash;
  };
  std::vector<std::optional<Reduced>> reduced_;  // by bucket; none: it was sparse, or not used
};

}  // namespace lockstep::ddp
