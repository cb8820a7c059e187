#pragma once

#include <memory>
#include <string>

#include "engine/hooks/CommHook.h"
#include "engine/hooks/HookTrace.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::hooks {

/// Averages the bucket over all ranks: sums, in place, shares that were divided by the world
/// size before, so that the sum of large half-precision gradients cannot overflow. What DDP
/// does when no other hook is set (c10d's fused divide and allreduce).
class AllreduceHook final : public CommHook {
 public:
  AllreduceHook(std::shared_ptr<process_group::ProcessGroup> group, trace::Tracer* tracer);
  ~AllreduceHook() override;

  [[nodiscard]] std::string name() const override { return "allreduce"; }
  [[nodiscard]] bool takesShares() const override { return true; }
  base::Future<at::Tensor> run(GradBucket& bucket) override;

 private:
  std::shared_ptr<process_group::ProcessGroup> group_;
  std::shared_ptr<HookTrace> trace_;
};

}  // namespace lockstep::hooks
