#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/ddp/reducer/BucketSet.h"
#include "engine/ddp/reducer/ReducerContext.h"
#include "engine/process_group/Work.h"

namespace lockstep::ddp {

/// Which parameters got a gradient, here and on the other ranks (c10d's locally and globally used
/// maps): one that no rank used keeps its gradient as it is. The ranks agree by an allreduce in
/// each iteration with findUnusedParameters, and in the first with staticGraph.
/// With skipUnusedBuckets, also which buckets have a gradient on any rank. Why these are two:
/// Note [Two maps] in the .cpp.
class UsedMap {
 public:
  explicit UsedMap(ReducerContext& context);

  // With the Reducer's mutex held.
  /// A gradient has come to this parameter since the last reduction.
  void mark(std::size_t index);
  [[nodiscard]] bool isUsedHere(std::size_t index) const;
  /// This rank has used nothing since.
  void clear();
  /// Starts the ranks' agreement on the buckets in use, where they are to agree on that; `unused`:
  /// parameters that the graph of this forward does not reach, in order. `takesPart`: whether this
  /// rank has inputs.
  void announce(const BucketSet& buckets, const std::vector<std::uint32_t>& unused, bool takesPart);
  /// The reduction has ended.
  void finish();
  /// How many ranks had a gradient for each parameter in the last iteration that asked.
  [[nodiscard]] const std::vector<std::int32_t>& usedBy() const { return usedBy_; }
  /// Warns, on rank 0, if no search for unused parameters ever found one. To be called at the end:
  /// a single backward that leaves a parameter out makes the searches worth their cost.
  void warnIfInVain();

  // Without it, by the thread that launches or finalises.
  /// Whether a bucket is to be reduced; waits for the agreement.
  [[nodiscard]] bool communicates(std::size_t bucket) const;
  void launch();
  void await();
  /// Whether no rank used the parameter; waits where that has to be asked.
  [[nodiscard]] bool keepsGradient(std::size_t index);

 private:
  ReducerContext& context_;
  at::Tensor used_;          // int32: 1, a gradient came since the last reduction
  at::Tensor usedAnywhere_;  // the sum of it over the ranks, once awaited
  std::shared_ptr<process_group::Work> work_;
  at::Tensor bucketsInUse_;  // int32: ranks that have gradients for each bucket
  std::shared_ptr<process_group::Work> bucketsWork_;
  std::vector<std::int32_t> usedBy_;
  std::uint64_t searchedInVain_ = 0;  // reductions in which every rank used every parameter
};

}  // namespace lockstep::ddp
