#include "engine/data_parallel/Replicas.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "engine/data_parallel/Coalesce.h"
#include "engine/data_parallel/DataParallelError.h"

namespace lockstep::data_parallel {

std::vector<StateTensor> stateOf(const torch::nn::Module& module) {
  std::vector<StateTensor> state;
  std::unordered_set<const c10::TensorImpl*> seen;
  const auto add = [&](const auto& dict) {
    for (const auto& item : dict) {
      if (item.value().defined() && seen.insert(item.value().unsafeGetTensorImpl()).second) {
        state.push_back({item.key(), item.value()});
      }
    }
  };
  add(module.named_parameters());
  add(module.named_buffers());
  return state;
}

ReplicaSet::ReplicaSet(const torch::nn::Module& module,
                       const std::function<std::shared_ptr<torch::nn::Module>(const Device&)>& make,
                       const std::vector<Device>& devices, std::uint64_t coalesceBytes)
    : devices_(devices), coalesceBytes_(coalesceBytes) {
  for (const Device& device : devices_) {
    auto replica = make(device);
    if (replica == nullptr || replica.get() == &module) {
      throw DataParallelError("makeReplica must return a new module at each call");
    }
    state_.push_back(stateOf(*replica));
    modules_.push_back(std::move(replica));
  }
}

// Note [How replicas are refreshed]
//
// PyTorch makes new replicas in each forward. Here they stay, and only their contents are renewed:
// the parameters of one dtype, about 10 MiB of them, lie one after the other in a flat tensor of
// each device, and each parameter of a replica is a slice of it. So a refresh gathers a group once
// (staging_) and copies it once for each device, whatever the number of parameters.
//
// Replica 0 is on the module's own device. Its parameters take the module's memory itself
// (set_data), and nothing is copied.
std::uint64_t ReplicaSet::refresh(torch::nn::Module& module, const std::vector<StateTensor>& state,
                                  std::size_t count) {
  layOut(state);
  const bool grad = c10::GradMode::is_enabled();
  std::uint64_t bytes = 0;
  {
    at::NoGradGuard noGrad;
    for (std::size_t group = 0; count > 1 && group < groups_.size(); ++group) {
      const auto& members = groups_[group];
      at::Tensor source = state[members.front()].tensor;
      if (members.size() > 1) {
        std::vector<at::Tensor> parts;
        for (const std::uint32_t k : members) {
          parts.push_back(state[k].tensor.detach().reshape({-1}));
        }
        source = staging_[group];
        at::cat_out(source, parts);
      }
      for (std::size_t replica = 1; replica < count; ++replica) {
        at::Tensor& target = flat_[replica][group];
        target.copy_(source.reshape({-1}));
        bytes += target.nbytes();
      }
    }
  }
  for (std::size_t replica = 0; replica < count; ++replica) {
    for (std::size_t k = 0; k < state.size(); ++k) {
      at::Tensor& mine = state_[replica][k].tensor;
      if (replica == 0) {
        mine.set_data(state[k].tensor);
      }
      mine.requires_grad_(grad && state[k].tensor.requires_grad());
      // What an earlier backward left there would be added to.
      mine.mutable_grad().reset();
    }
    copyModes(module, replica);
  }
  return bytes;
}

void ReplicaSet::layOut(const std::vector<StateTensor>& state) {
  bool same = laidOutFor_.size() == state.size();
  for (std::size_t k = 0; same && k < state.size(); ++k) {
    same = laidOutFor_[k].sizes() == state[k].tensor.sizes() &&
           laidOutFor_[k].scalar_type() == state[k].tensor.scalar_type();
  }
  // Shapes and dtypes as before: the flat tensors fit. This is every step but the first.
  if (same) {
    return;
  }
  std::vector<at::Tensor> tensors;
  for (std::size_t k = 0; k < state.size(); ++k) {
    if (state[k].tensor.layout() != at::kStrided) {
      throw DataParallelError(
          fmt::format("'{}' is sparse: replicas need dense parameters and "
                      "buffers",
                      state[k].name));
    }
    tensors.push_back(state[k].tensor.detach());
  }
  for (std::size_t replica = 0; replica < modules_.size(); ++replica) {
    const auto& mine = state_[replica];
    const std::size_t common = std::min(mine.size(), state.size());
    std::size_t k = 0;
    while (k < common && mine[k].name == state[k].name) {
      ++k;
    }
    if (k < mine.size() || k < state.size()) {
      throw DataParallelError(fmt::format(
          "replica {} has {} where the module has {}: makeReplica must build the same module, and "
          "a wrapped module must keep its parameters and buffers",
          replica, k < mine.size() ? "'" + mine[k].name + "'" : "nothing more",
          k < state.size() ? "'" + state[k].name + "'" : "nothing more"));
    }
  }
  // Slices that share a flat tensor's memory without being views in autograd's sense.
  at::AutoDispatchBelowADInplaceOrView untracked;
  groups_.clear();
  staging_.clear();
  flat_.assign(modules_.size(), {});
  for (const auto& group : groupForCopy(tensors, coalesceBytes_).buckets) {
    std::int64_t numel = 0;
    for (const std::uint32_t k : group.parameters) {
      numel += tensors[k].numel();
    }
    const auto options = tensors[group.parameters.front()].options();
    groups_.push_back(group.parameters);
    staging_.push_back(group.parameters.size() > 1 ? at::empty({numel}, options) : at::Tensor());
    for (std::size_t replica = 0; replica < modules_.size(); ++replica) {
      if (replica == 0) {
        flat_[replica].emplace_back();
        continue;
      }
      flat_[replica].push_back(at::empty({numel}, options.device(devices_[replica].place)));
      std::int64_t offset = 0;
      for (const std::uint32_t k : group.parameters) {
        state_[replica][k].tensor.set_data(
            flat_[replica].back().narrow(0, offset, tensors[k].numel()).view(tensors[k].sizes()));
        offset += tensors[k].numel();
      }
    }
  }
  laidOutFor_.clear();
  for (const at::Tensor& tensor : tensors) {
    // On "meta", which keeps shape and dtype and no memory.
    laidOutFor_.push_back(at::empty(tensor.sizes(), tensor.options().device(at::kMeta)));
  }
}

void ReplicaSet::copyModes(torch::nn::Module& module, std::size_t replica) const {
  const auto from = module.modules();
  const auto to = modules_[replica]->modules();
  if (from.size() != to.size()) {
    throw DataParallelError(fmt::format(
        "replica {} has {} submodules where the module has {}: makeReplica must build the same "
        "module",
        replica, to.size(), from.size()));
  }
  // Outer modules come first, and setting one sets all below it: each then corrects itself.
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to[i]->is_training() != from[i]->is_training()) {
      to[i]->train(from[i]->is_training());
    }
  }
}

at::Tensor ReplicaSet::takeGradient(std::size_t replica, std::size_t k) {
  return std::exchange(state_[replica][k].tensor.mutable_grad(), at::Tensor());
}

std::shared_ptr<ReplicaSet> ReplicaPool::borrow() {
  std::unique_ptr<ReplicaSet> set;
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      set = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (set == nullptr) {
    set = make_();
  }
  // The graph holds the set and may outlive the pool: then there is nothing to return it to.
  return {set.release(), [pool = weak_from_this()](ReplicaSet* lent) {
            std::unique_ptr<ReplicaSet> back(lent);
            if (const auto owner = pool.lock()) {
              std::lock_guard lock(owner->mutex_);
              owner->free_.push_back(std::move(back));
            }
          }};
}

std::size_t ReplicaPool::idle() {
  std::lock_guard lock(mutex_);
  return free_.size();
}

}  // namespace lockstep::data_parallel
