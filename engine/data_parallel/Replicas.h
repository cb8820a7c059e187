#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/buckets/BucketPlan.h"
#include "engine/data_parallel/Device.h"

namespace lockstep::data_parallel {

/// A parameter or buffer of a module, under its first name.
struct StateTensor {
  std::string name;
  at::Tensor tensor;
};

/// Lists each parameter, then each buffer, of a module once; a shared one keeps its first name.
std::vector<StateTensor> stateOf(const torch::nn::Module& module);

/// One module a device, with the state of the wrapped one.
///
/// Replica 0's tensors share the wrapped module's memory, so that what a forward changes in them
/// in place (running statistics of batch norm) stays; all other replicas have memory of their
/// own, overwritten by the next refresh. Parameters are leaves of each replica's own graph.
/// Note [How replicas are refreshed] in the .cpp.
class ReplicaSet {
 public:
  ReplicaSet(const torch::nn::Module& module,
             const std::function<std::shared_ptr<torch::nn::Module>(const Device&)>& make,
             const std::vector<Device>& devices, std::uint64_t coalesceBytes);

  /// Copies parameters, buffers and training modes of `module` to the first `count` replicas,
  /// small tensors coalesced; returns the bytes copied. `state` is stateOf(module). Throws
  /// DataParallelError when the module has other parameters, buffers or submodules than its
  /// replicas.
  std::uint64_t refresh(torch::nn::Module& module, const std::vector<StateTensor>& state,
                        std::size_t count);

  [[nodiscard]] torch::nn::Module& module(std::size_t replica) { return *modules_[replica]; }

  /// Takes the gradient of replica `replica`'s k-th state tensor from it, undefined if none.
  at::Tensor takeGradient(std::size_t replica, std::size_t k);

 private:
  void layOut(const std::vector<StateTensor>& state);
  void copyModes(torch::nn::Module& module, std::size_t replica) const;

  std::vector<Device> devices_;
  std::uint64_t coalesceBytes_;
  std::vector<std::shared_ptr<torch::nn::Module>> modules_;
  std::vector<std::vector<StateTensor>> state_;  // [replica][k], as the wrapped module's

  // How the state travels: each group is one copy into a flat tensor of each device.
  std::vector<at::Tensor> laidOutFor_;  // [k], on device meta: shape and dtype
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<at::Tensor> staging_;            // [group], on devices[0]; one tensor: undefined
  std::vector<std::vector<at::Tensor>> flat_;  // [replica][group], of replicas past the first
};

/// Lends replica sets. A set is in use as long as a graph over it is alive: a second forward
/// before the first one's backward gets another, so that it cannot overwrite what that needs.
class ReplicaPool : public std::enable_shared_from_this<ReplicaPool> {
 public:
  using MakeSet = std::function<std::unique_ptr<ReplicaSet>()>;
  explicit ReplicaPool(MakeSet make) : make_(std::move(make)) {}

  /// Returns a free set, a new one if there is none; it comes back with the last reference.
  std::shared_ptr<ReplicaSet> borrow();

  /// Returns how many sets were made and are still there, lent ones not counted. [any-thread]
  std::size_t idle();

 private:
  MakeSet make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ReplicaSet>> free_;
};

}  // namespace lockstep::data_parallel
