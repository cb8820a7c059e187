#pragma once

// Everything of libtorch's autograd that the Reducer hooks into, in one place: the calls are
// outside libtorch's stable interface. What is here holds for 1.13 and for 2.x.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace lockstep::ddp::compat {

using Node = torch::autograd::Node;

/// Runs after a parameter's gradient was accumulated into Tensor::grad.
class GradientHook final : public torch::autograd::FunctionPostHook {
 public:
  explicit GradientHook(std::function<void()> callback) : callback_(std::move(callback)) {}

  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    callback_();
    return outputs;
  }

 private:
  std::function<void()> callback_;
};

/// Returns the node that accumulates the leaf's gradient. The leaf holds it only weakly: keep
/// it, or hooks on it are lost.
inline std::shared_ptr<Node> gradientAccumulator(const at::Tensor& leaf) {
  return torch::autograd::impl::grad_accumulator(leaf);
}

/// Returns whether a Reducer watches this node already.
inline bool hasGradientHook(const Node& accumulator) {
  for (const auto& hook : accumulator.post_hooks()) {
    if (dynamic_cast<const GradientHook*>(hook.get()) != nullptr) {
      return true;
    }
  }
  return false;
}

/// Returns the key that removeGradientHook takes.
inline std::uintptr_t addGradientHook(Node& accumulator, std::function<void()> callback) {
  return accumulator.add_post_hook(std::make_unique<GradientHook>(std::move(callback)));
}

inline void removeGradientHook(Node& accumulator, std::uintptr_t key) {
  accumulator.del_post_hook(key);
}

/// Runs `callback` when the backward that calls this (from a hook) has finished.
inline void afterThisBackward(std::function<void()> callback) {
  torch::autograd::Engine::get_default_engine().queue_callback(std::move(callback));
}

/// While it lives, slices of a tensor are plain tensors that share its memory, not views in
/// autograd's sense. A gradient that is such a slice can be detached in place, which
/// zero_grad() does and which fails on a view.
using UntrackedViews = at::AutoDispatchBelowADInplaceOrView;

}  // namespace lockstep::ddp::compat
