#pragma once

#include <torch/csrc/autograd/function.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/data_parallel/ParallelApply.h"
#include "engine/data_parallel/Replicas.h"
#include "engine/data_parallel/ScatterGather.h"
#include "engine/trace/Tracer.h"

namespace lockstep::data_parallel {

/// What a forward leaves for its backward.
struct Applied {
  std::shared_ptr<ReplicaSet> replicas;
  DeviceLanes where;  ///< of the replicas that ran
  Device outputDevice;
  std::int64_t dim = 0;
  std::uint64_t coalesceBytes = 0;
  std::vector<StateTensor> state;       ///< of the wrapped module
  std::vector<std::size_t> trained;     ///< indices into state: what takes gradients
  std::vector<TrackedInput> inputs;     ///< inputs that take gradients
  std::vector<GatheredTensor> outputs;  ///< those with a gradient
  trace::Lane* lane = nullptr;          ///< "step"
  std::shared_ptr<void> laneOwner;
  std::uint32_t step = 0;
};

/// The backward of a whole DataParallel forward, one node of the caller's graph: cuts the
/// outputs' gradient, runs each replica's graph on its device's thread, and sums the replicas'
/// gradients on device 0 (torch.nn.parallel's Gather, Broadcast and ReduceAddCoalesced).
/// A parameter that no replica used gets zeros, as in PyTorch. Note [One node for all replicas] in
/// the .cpp.
///
/// Throws ReplicaError; DataParallelError for a second run without retain_graph, and for
/// create_graph, since gradients of gradients do not pass here.
class ReplicaBackward : public torch::autograd::Node {
 public:
  explicit ReplicaBackward(Applied applied) : applied_(std::move(applied)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override;
  std::string name() const override { return "DataParallelBackward"; }
  void release_variables() override;

 private:
  torch::autograd::variable_list reduce();

  std::mutex inUse_;
  Applied applied_;
  bool released_ = false;
};

/// Gives the outputs their place in the caller's graph; returns them in `applied.outputs`' order.
/// The next edges are those of `applied.trained`, then of `applied.inputs`.
std::vector<at::Tensor> connect(Applied applied);

}  // namespace lockstep::data_parallel
