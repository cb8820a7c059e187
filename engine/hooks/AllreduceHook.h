#pragma once

#include <memory>
#include <string>

#include "engine/hooks/CommHook.h"
#include "engine/hooks/HookTrace.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::hooks {

/// Averages the bucket over all ranks: divides by the group's size first, so that the sum of
/// large half-precision gradients cannot overflow, then sums in place
/// (c10d::AllReduceCommHook). Gives what DDP does without a hook, and costs one more pass over
/// the bucket: without a hook the division rides on the copy into the bucket.
class AllreduceHook final : public CommHook {
 public:
  AllreduceHook(std::shared_ptr<process_group::ProcessGroup> group, trace::Tracer* tracer);

  [[nodiscard]] std::string name() const override { return "allreduce"; }
  base::Future<at::Tensor> run(GradBucket& bucket) override;

 private:
  std::shared_ptr<process_group::ProcessGroup> group_;
  std::shared_ptr<HookTrace> trace_;
};

}  // namespace lockstep::hooks
