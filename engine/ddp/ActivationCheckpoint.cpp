#include "engine/ddp/ActivationCheckpoint.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "engine/ddp/DdpError.h"

namespace lockstep::ddp {

namespace {

// Note [Two ways to compute again]
//
// Both keep only the inputs of a segment and compute it again in the backward. They differ in how
// the gradients of its parameters get to them:
//
//   re-entrant       outer backward ─▶ node of the segment ─▶ a whole inner backward,
//                    which ends at the parameters: their accumulators fire inside it
//   non-re-entrant   the parameters are inputs of the node: it hands their gradients to the
//                    outer backward, which adds up those of several segments
//
// In the first a weight shared by two segments gets two gradients, one after the other. A Reducer
// that expects one takes the second for an error, unless it has counted them (static_graph). In the
// second an accumulator fires once, as without checkpoints.
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The state of the default generators that a segment on `inputs` draws from.
class RandomState {
 public:
  static RandomState now(const std::vector<at::Tensor>& inputs) {
    RandomState state;
    state.save(at::detail::getDefaultCPUGenerator());
    std::set<c10::DeviceIndex> devices;
    for (const at::Tensor& input : inputs) {
      if (input.defined() && input.is_cuda() && devices.insert(input.device().index()).second) {
        state.save(at::globalContext().defaultGenerator(input.device()));
      }
    }
    return state;
  }

  void restore() const {
    for (auto [generator, state] : states_) {
      // The lock is the generator's own, which every draw takes: other threads may be drawing.
      std::lock_guard lock(generator.mutex());
      generator.set_state(state);
    }
  }

 private:
  void save(at::Generator generator) {
    std::lock_guard lock(generator.mutex());
    states_.emplace_back(generator, generator.get_state());
  }

  std::vector<std::pair<at::Generator, at::Tensor>> states_;
};

/// What the second computation needs beside the inputs.
struct Plan : torch::CustomClassHolder {
  Segment segment;
  std::size_t inputs = 0;  // of the tensors passed; the rest are parameters
  bool preserveRandomState = true;
  RandomState random;

  /// Computes again with gradient mode on, as with the first time's random numbers.
  [[nodiscard]] std::vector<at::Tensor> recompute(const std::vector<at::Tensor>& on) const {
    // A backward runs with it off, and without a graph there would be nothing to differentiate.
    at::AutoGradMode enable(true);
    if (!preserveRandomState) {
      return segment(on);
    }
    // Whoever draws after this backward must not see that a segment drew twice.
    const RandomState now = RandomState::now(on);
    random.restore();
    auto outputs = segment(on);
    now.restore();
    return outputs;
  }
};

/// The inputs as leaves of a graph of their own.
std::vector<at::Tensor> detached(const variable_list& saved, std::size_t count) {
  std::vector<at::Tensor> leaves;
  for (std::size_t i = 0; i < count; ++i) {
    leaves.push_back(saved[i].defined() ? saved[i].detach().requires_grad_(saved[i].requires_grad())
                                        : at::Tensor());
  }
  return leaves;
}

/// Outputs to differentiate, with their gradients.
struct Roots {
  variable_list outputs;
  variable_list gradients;

  Roots(const std::vector<at::Tensor>& all, const variable_list& given) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].defined() && all[i].requires_grad() && given[i].defined()) {
        outputs.push_back(all[i]);
        gradients.push_back(given[i]);
      }
    }
  }
};

/// A backward inside the backward: parameters get their gradients on the way.
variable_list backwardInside(const Roots& roots, const variable_list& leaves) {
  if (!roots.outputs.empty()) {
    torch::autograd::backward(roots.outputs, roots.gradients);
  }
  variable_list gradients;
  for (const at::Tensor& leaf : leaves) {
    gradients.push_back(leaf.defined() ? leaf.grad() : at::Tensor());
  }
  return gradients;
}

/// Gradients of all sources, parameters among them, for the outer backward to hand on.
variable_list gradientsOf(const Roots& roots, const variable_list& sources) {
  variable_list wanted;
  for (const at::Tensor& source : sources) {
    if (source.defined() && source.requires_grad()) {
      wanted.push_back(source);
    }
  }
  variable_list found(wanted.size());
  if (!roots.outputs.empty()) {
    found = torch::autograd::grad(roots.outputs, wanted, roots.gradients, false, false, true);
  }
  variable_list gradients;
  auto next = found.begin();
  for (const at::Tensor& source : sources) {
    const bool needs = source.defined() && source.requires_grad();
    gradients.push_back(needs ? *next++ : at::Tensor());
  }
  return gradients;
}

template <bool kReentrant>
class Checkpoint : public torch::autograd::Function<Checkpoint<kReentrant>> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList tensors,
                               const c10::intrusive_ptr<Plan>& plan) {
    const std::vector<at::Tensor> inputs = tensors.slice(0, plan->inputs).vec();
    if (plan->preserveRandomState) {
      plan->random = RandomState::now(inputs);
    }
    context->saved_data["plan"] = c10::IValue::make_capsule(plan);
    context->save_for_backward(tensors.vec());
    return plan->segment(inputs);
  }

  static variable_list backward(AutogradContext* context, variable_list given) {
    if (at::GradMode::is_enabled()) {
      // The inputs were detached: second derivatives would silently miss what lies before them.
      throw DdpError(
          "a checkpointed segment cannot be differentiated twice: run the backward without "
          "create_graph");
    }
    const auto& plan = static_cast<const Plan&>(*context->saved_data["plan"].toCapsule());
    const auto saved = context->get_saved_variables();
    auto sources = detached(saved, plan.inputs);
    const Roots roots(plan.recompute(sources), given);
    sources.insert(sources.end(), saved.begin() + static_cast<std::ptrdiff_t>(plan.inputs),
                   saved.end());
    auto gradients = kReentrant ? backwardInside(roots, sources) : gradientsOf(roots, sources);
    // autograd expects one for each argument of forward().
    gradients.emplace_back();  // of the plan
    return gradients;
  }
};

c10::intrusive_ptr<Plan> makePlan(Segment segment, std::size_t inputs,
                                  const CheckpointOptions& options) {
  auto plan = c10::make_intrusive<Plan>();
  plan->segment = std::move(segment);
  plan->inputs = inputs;
  plan->preserveRandomState = options.preserveRandomState;
  return plan;
}

}  // namespace

std::vector<at::Tensor> checkpointReentrant(Segment segment, std::vector<at::Tensor> inputs,
                                            CheckpointOptions options) {
  if (!at::GradMode::is_enabled()) {
    return segment(inputs);
  }
  if (std::none_of(inputs.begin(), inputs.end(),
                   [](const at::Tensor& t) { return t.defined() && t.requires_grad(); })) {
    throw DdpError(
        "no input of a checkpointed segment requires a gradient, so that its parameters would get "
        "none: let an input require one, or use checkpointNonReentrant");
  }
  const std::size_t count = inputs.size();
  return Checkpoint<true>::apply(at::TensorList(inputs),
                                 makePlan(std::move(segment), count, options));
}

std::vector<at::Tensor> checkpointNonReentrant(Segment segment, std::vector<at::Tensor> inputs,
                                               std::vector<at::Tensor> parameters,
                                               CheckpointOptions options) {
  if (!at::GradMode::is_enabled()) {
    return segment(inputs);
  }
  const std::size_t count = inputs.size();
  std::vector<at::Tensor> tensors = std::move(inputs);
  tensors.insert(tensors.end(), parameters.begin(), parameters.end());
  return Checkpoint<false>::apply(at::TensorList(tensors),
                                  makePlan(std::move(segment), count, options));
}

}  // namespace lockstep::ddp
