#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/ddp/reducer/BucketSet.h"
#include "engine/ddp/reducer/GradientCopies.h"
#include "engine/ddp/reducer/ReadyGradients.h"
#include "engine/ddp/reducer/ReducerContext.h"
#include "engine/process_group/Work.h"

namespace lockstep::ddp {

/// Parameters whose gradients are not in the buckets: one allreduce for all, when the gradient of
/// one parameter, the trigger, says that theirs have come (PyTorch's
/// delay_all_reduce_named_params and param_to_hook_all_reduce).
class DeferredParameters {
 public:
  DeferredParameters(ReducerContext& context, GradientCopies& copies);

  // With the Reducer's mutex held.
  [[nodiscard]] bool none() const { return buckets_.size() == 0; }
  [[nodiscard]] bool holds(std::size_t index) const { return index >= context_.planned; }
  /// Forgets the last iteration.
  void reset();
  /// A parameter is ready, one of these or another.
  void note(std::size_t index);
  /// Copies the gradient of one of these.
  void take(std::size_t index);
  /// Launches them if it is time; returns whether they are launched, or there are none.
  /// `afterBuckets`: all buckets are launched. Throws DdpError for a gradient that has not come.
  [[nodiscard]] bool launch(const ReadyGradients& ready, bool afterBuckets);

  /// By the thread that finalises: waits, and writes the averages into the gradients.
  void await();

 private:
  ReducerContext& context_;
  GradientCopies& copies_;
  BucketSet buckets_;                                        // one for each dtype and device
  std::vector<std::shared_ptr<process_group::Work>> works_;  // launched
  bool triggered_ = false;
};

}  // namespace lockstep::ddp
