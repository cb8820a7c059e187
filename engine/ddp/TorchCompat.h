#pragma once

// Everything of libtorch that differs from 1.13 to 2.x, and what the Reducer hooks into, which is
// outside libtorch's stable interface.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= 201
#include <ATen/ops/_foreach_copy.h>
#endif
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep::ddp::compat {

using Node = torch::autograd::Node;

/// What keeps a node alive: std::shared_ptr, and in the newest libtorch c10::intrusive_ptr.
using NodePtr =
    decltype(torch::autograd::impl::grad_accumulator(std::declval<const at::Tensor&>()));

/// Makes a node of our own. The deleter of the older pointer frees a long graph without recursion.
template <typename Made, typename Pointer = NodePtr, typename... Arguments>
Pointer makeNode(Arguments&&... arguments) {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<Node>>) {
    return Pointer(new Made(std::forward<Arguments>(arguments)...),
                   [](auto* node) { deleteNode(node); });
  } else {
    return c10::make_intrusive<Made>(std::forward<Arguments>(arguments)...);
  }
}

/// Runs after a parameter's gradient was accumulated into Tensor::grad, and also when the
/// backward came to the parameter with an undefined gradient: `gradient` says which.
class GradientHook final : public torch::autograd::FunctionPostHook {
 public:
  using Callback = std::function<void(bool gradient)>;
  explicit GradientHook(Callback callback) : callback_(std::move(callback)) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list& inputs) override {
    callback_(!inputs.empty() && inputs.front().defined());
    return outputs;
  }

 private:
  Callback callback_;
};

/// Returns the node that accumulates the leaf's gradient. The leaf holds it only weakly: keep
/// it, or hooks on it are lost.
inline NodePtr gradientAccumulator(const at::Tensor& leaf) {
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
inline std::uintptr_t addGradientHook(Node& accumulator, GradientHook::Callback callback) {
  return accumulator.add_post_hook(std::make_unique<GradientHook>(std::move(callback)));
}

inline void removeGradientHook(Node& accumulator, std::uintptr_t key) {
  accumulator.del_post_hook(key);
}

/// Runs `callback` when the backward that calls this (from a hook) has finished, with the stream of
/// `device` that is current now: the engine runs callbacks on whatever stream its thread has.
inline void afterThisBackward(const at::Device& device, std::function<void()> callback) {
  if (!device.is_cpu()) {
    const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
    callback = [stream, callback = std::move(callback)] {
      const c10::StreamGuard guard(stream);
      callback();
    };
  }
  torch::autograd::Engine::get_default_engine().queue_callback(std::move(callback));
}

/// Copies each tensor into the one at its place; in one launch on a device, from 2.1 on.
inline void copyAll(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from) {
  if (to.empty()) {
    return;
  }
#if TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= 201
  at::_foreach_copy_(to, from);
#else
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].copy_(from[i]);
  }
#endif
}

/// Returns the node that takes the gradient of a tensor with requires_grad.
inline NodePtr graphNode(const at::Tensor& tensor) {
  return torch::autograd::impl::gradient_edge(tensor).function;
}

/// An identity between a model's outputs and whatever uses them.
class OutputNode final : public Node {
 public:
  explicit OutputNode(std::function<void()> onBackward) : onBackward_(std::move(onBackward)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    onBackward_();
    return std::move(gradients);
  }
  std::string name() const override { return "lockstep::ddp::OutputNode"; }

 private:
  std::function<void()> onBackward_;
};

/// Replaces each tensor that has a graph by one of the same memory, and puts one identity node for
/// all of them in between. A backward from any of them then reaches the graphs of all, with
/// undefined gradients where it does not come from. It calls `onBackward` first, in the task of
/// that backward and never in a re-entrant one.
inline void passThroughOneNode(const std::vector<at::Tensor*>& outputs,
                               std::function<void()> onBackward) {
  torch::autograd::edge_list edges;
  std::vector<at::Tensor*> tracked;
  for (at::Tensor* output : outputs) {
    if (output->defined() && output->grad_fn() != nullptr) {
      edges.push_back(torch::autograd::impl::gradient_edge(*output));
      tracked.push_back(output);
    }
  }
  if (tracked.empty()) {
    return;
  }
  const NodePtr node = makeNode<OutputNode>(std::move(onBackward));
  node->set_next_edges(std::move(edges));
  for (at::Tensor* output : tracked) {
    at::Tensor same = output->detach();
    torch::autograd::set_history(same, node);
    *output = std::move(same);
  }
}

/// Returns what an optimizer of libtorch files a parameter's state under: its address, which the
/// older ones write as text.
template <typename Optimizer>
auto stateKey(const at::Tensor& parameter) {
  using Key = typename std::decay_t<decltype(std::declval<Optimizer&>().state())>::key_type;
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return Key{parameter.unsafeGetTensorImpl()};
  }
}

/// While it lives, slices of a tensor are plain tensors that share its memory, not views in
/// autograd's sense. A gradient that is such a slice can be detached in place, which
/// zero_grad() does and which fails on a view.
using UntrackedViews = at::AutoDispatchBelowADInplaceOrView;

}  // namespace lockstep::ddp::compat
