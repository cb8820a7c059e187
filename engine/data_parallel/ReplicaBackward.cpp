#include "engine/data_parallel/ReplicaBackward.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <utility>

#include "engine/data_parallel/Coalesce.h"
#include "engine/data_parallel/DataParallelError.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/trace/Event.h"

namespace lockstep::data_parallel {

using torch::autograd::variable_list;
using trace::EventKind;

// Note [One node for all replicas]
//
// Each replica has a graph of its own, from the leaves that are its parameters to its outputs. The
// caller's graph sees none of them: the gathered outputs hang on one node, whose next edges are the
// wrapped module's parameters.
//
//   caller's graph      loss ─▶ ReplicaBackward ─────────────────────▶ module's parameters
//                                  │ gradient, cut                ▲ sums
//   replica 0's graph              ├──▶ output 0 ─▶ leaves 0 ─────┤
//   replica 1's graph              └──▶ output 1 ─▶ leaves 1 ─────┘
//
// So the engine cannot run replicas by itself: apply() starts a backward of each on a thread of its
// own, takes what has gathered in the leaves, and returns the sums.
variable_list ReplicaBackward::apply(variable_list&& gradients) {
  std::lock_guard lock(inUse_);
  if (released_) {
    throw DataParallelError(
        "a second backward through one DataParallel forward; give the first retain_graph = true");
  }
  if (c10::GradMode::is_enabled()) {
    throw DataParallelError(
        "create_graph = true: gradients of gradients do not pass through DataParallel; take them "
        "of the wrapped module");
  }
  const std::size_t count = applied_.where.devices.size();
  std::vector<variable_list> roots(count);
  std::vector<variable_list> rootGradients(count);
  std::uint64_t bytes = 0;
  const std::uint64_t startTicks = base::ticks();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    // An output that the loss does not use.
    if (!gradients[i].defined()) {
      continue;
    }
    const auto& output = applied_.outputs[i];
    const auto parts = scatterGradient(output, gradients[i], applied_.where.devices,
                                       applied_.outputDevice, applied_.dim, bytes);
    for (std::size_t replica = 0; replica < count; ++replica) {
      if (output.parts[replica].requires_grad()) {
        roots[replica].push_back(output.parts[replica]);
        rootGradients[replica].push_back(parts[replica]);
      }
    }
  }
  applied_.lane->span(EventKind::kScatter, startTicks, applied_.step, trace::kNoBucket, bytes);
  parallelApply(applied_.where, count, Half::kBackward, applied_.step, [&](std::size_t replica) {
    if (!roots[replica].empty()) {
      // The graph is kept for a caller that keeps its own; release_variables() drops it.
      torch::autograd::backward(roots[replica], rootGradients[replica], /*retain_graph=*/true);
    }
  });
  return reduce();
}

variable_list ReplicaBackward::reduce() {
  const auto& devices = applied_.where.devices;
  variable_list result;
  {
    std::uint64_t bytes = 0;
    const std::uint64_t startTicks = base::ticks();
    std::vector<std::vector<at::Tensor>> gradients(devices.size());
    for (std::size_t replica = 0; replica < devices.size(); ++replica) {
      for (const std::size_t k : applied_.trained) {
        gradients[replica].push_back(applied_.replicas->takeGradient(replica, k));
      }
    }
    result = reduceAddCoalesced(gradients, devices, applied_.coalesceBytes, bytes);
    for (std::size_t i = 0; i < result.size(); ++i) {
      // As in PyTorch, where the copy of a parameter to the replicas gives it zeros.
      if (!result[i].defined() && task_should_compute_output(i)) {
        result[i] = at::zeros_like(applied_.state[applied_.trained[i]].tensor);
      }
    }
    applied_.lane->span(EventKind::kReduceGradients, startTicks, applied_.step, trace::kNoBucket,
                        bytes);
  }
  if (!applied_.inputs.empty()) {
    std::uint64_t bytes = 0;
    const std::uint64_t startTicks = base::ticks();
    for (const TrackedInput& input : applied_.inputs) {
      result.push_back(gatherGradient(input, devices, applied_.dim, bytes));
      for (const at::Tensor& leaf : input.leaves) {
        leaf.mutable_grad().reset();
      }
    }
    applied_.lane->span(EventKind::kGather, startTicks, applied_.step, trace::kNoBucket, bytes);
  }
  return result;
}

void ReplicaBackward::release_variables() {
  std::lock_guard lock(inUse_);
  released_ = true;
  // The graphs go first and then the replicas, which return to the pool.
  applied_.outputs.clear();
  applied_.inputs.clear();
  applied_.state.clear();
  applied_.replicas.reset();
}

std::vector<at::Tensor> connect(Applied applied) {
  variable_list sources;
  for (const std::size_t k : applied.trained) {
    sources.push_back(applied.state[k].tensor);
  }
  for (const TrackedInput& input : applied.inputs) {
    sources.push_back(input.input);
  }
  std::vector<at::Tensor> outputs;
  for (GatheredTensor& output : applied.outputs) {
    // Moved out: an output that its own node holds would never be freed.
    outputs.push_back(std::move(output.whole));
  }
  const auto node = ddp::compat::makeNode<ReplicaBackward>(std::move(applied));
  node->set_next_edges(torch::autograd::collect_next_edges(sources));
  for (at::Tensor& output : outputs) {
    torch::autograd::set_history(output, node);
  }
  return outputs;
}

}  // namespace lockstep::data_parallel
