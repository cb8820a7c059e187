#pragma once

#include <memory>
#include <string>

#include "engine/hooks/CommHook.h"
#include "engine/optim/ParameterOptimizer.h"
#include "engine/trace/Tracer.h"

namespace lockstep::hooks {

/// Steps the optimizer of a bucket's parameters as soon as that bucket is averaged, while the
/// backward and the buckets after it go on (c10d's hook_then_optimizer). Wraps any hook; the
/// gradients that it returns are what the optimizer gets, and remain in Tensor::grad after the
/// backward. The training loop must not step these parameters itself.
///
/// Steps run one after the other on a thread of this hook, "hook optimizer", which keeps the
/// backend's threads free for communication; each is a kBucketOptimizer span. The backward waits
/// for them at its end. With no_sync the optimizer steps in the synchronised backward alone, with
/// the accumulated gradients, as a loop without overlap would.
///
/// Sparse gradients bypass every communication hook, so that their parameters are not stepped:
/// leave them to an optimizer after the backward.
///
/// When a bucket fails, earlier buckets have been stepped already: the replicas are to be
/// considered lost, as after any failed collective. Threads: Note [Steps in the backward] in the
/// .cpp.
class ThenOptimizerHook final : public CommHook {
 public:
  /// `optimizer` lists the parameters that are reduced, in registration order. `tracer` may be
  /// null and otherwise outlives the hook.
  ThenOptimizerHook(std::shared_ptr<CommHook> inner,
                    std::shared_ptr<optim::ParameterOptimizer> optimizer, trace::Tracer* tracer);
  /// Waits for the step that is running; later ones end with an error.
  ~ThenOptimizerHook() override;

  [[nodiscard]] std::string name() const override { return inner_->name() + " then optimizer"; }
  [[nodiscard]] bool takesShares() const override { return inner_->takesShares(); }
  [[nodiscard]] bool writesParameters() const override { return true; }
  base::Future<at::Tensor> run(GradBucket& bucket) override;
  [[nodiscard]] std::string inside() const override { return inner_->inside(); }

 private:
  class Stepper;

  const std::shared_ptr<CommHook> inner_;
  const std::shared_ptr<Stepper> stepper_;
};

}  // namespace lockstep::hooks
