#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>

#include <numeric>
#include <set>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/SyncBatchNorm.h"
#include "engine/ddp/TensorText.h"

namespace lockstep::ddp {

namespace {

std::string sizes(const buckets::BucketPlan& plan) {
  std::vector<std::uint64_t> bytes;
  for (const auto& bucket : plan.buckets) {
    bytes.push_back(bucket.bytes);
  }
  return fmt::format("{}", fmt::join(bytes, ", "));
}

std::string oneOrZero(bool value) {
  return value ? "1" : "0";
}

}  // namespace

// Under c10d's names and in its units (bytes, nanoseconds, 1 for true), so that what reads
// PyTorch's can read this.
std::map<std::string, std::string> DistributedDataParallel::loggingData() const {
  std::map<std::string, std::string> data;
  std::uint64_t bytes = 0;
  std::set<std::string> dtypes;
  std::set<std::string> devices;
  for (const NamedTensor& parameter : trained_) {
    bytes += parameter.tensor.nbytes();
    dtypes.insert(dtypeName(parameter.tensor.scalar_type()));
    devices.insert(parameter.tensor.device().str());
  }
  data["module_name"] = module_ == nullptr ? "" : module_->name();
  data["rank"] = std::to_string(group_->rank());
  data["world_size"] = std::to_string(group_->size());
  data["num_parameter_tensors"] = std::to_string(trained_.size());
  data["total_parameter_size_bytes"] = std::to_string(bytes);
  data["dtypes"] = fmt::format("{}", fmt::join(dtypes, ", "));
  data["bucket_sizes"] = firstBucketSizes_;
  data["bucket_cap_bytes"] =
      std::to_string(static_cast<std::uint64_t>(options_.bucketCapMb * 1048576));
  data["broadcast_buffers"] = oneOrZero(options_.broadcastBuffers);
  data["forward_sync_buffers"] = oneOrZero(options_.forwardSyncBuffers);
  data["batched_grad_copy"] = oneOrZero(options_.batchedGradCopy);
  data["has_sync_bn"] = oneOrZero(module_ != nullptr && hasSyncBatchNorm(*module_));
  data["find_unused_parameters"] = oneOrZero(options_.findUnusedParameters);
  data["gradient_as_bucket_view"] = oneOrZero(options_.gradientAsBucketView);
  data["static_graph"] = oneOrZero(options_.staticGraph);
  data["is_multi_device_module"] = oneOrZero(devices.size() > 1);
  data["backend_name"] = group_->backendName();
  data["comm_hook"] = options_.hook == nullptr ? "allreduce" : options_.hook->name();
  data["join_uneven_inputs"] = oneOrZero(joining());

  const Reducer::State state = reducer_->state();
  data["iteration"] = std::to_string(state.times.iterations());
  data["unused_parameter_size"] = std::to_string(std::accumulate(
      state.unused.begin(), state.unused.end(), std::uint64_t{0},
      [&](std::uint64_t sum, std::uint32_t i) { return sum + trained_[i].tensor.nbytes(); }));
  data["has_rebuilt_buckets"] = oneOrZero(reducer_->hasRebuiltBuckets());
  if (reducer_->hasRebuiltBuckets()) {
    data["rebuilt_bucket_sizes"] = sizes(reducer_->plan());
    std::vector<std::string> lists;
    for (const auto& indices : reducer_->plan().indices()) {
      lists.push_back(fmt::format("{}", fmt::join(indices, " ")));
    }
    data["rebuilt_per_bucket_param_indices"] = fmt::format("{}", fmt::join(lists, ", "));
  }
  data["prev_iteration_grad_ready_order_indices"] =
      fmt::format("{}", fmt::join(state.readyOrder, ", "));
  data["can_set_static_graph"] = oneOrZero(reducer_->canSetStaticGraph());
  data["has_error"] = oneOrZero(!state.failure.empty());
  if (!state.failure.empty()) {
    data["error"] = state.failure;
  }
  if (state.times.iterations() > 0) {
    const auto put = [&](const std::string& prefix, const DdpTimes::Durations& durations) {
      data[prefix + "forward_compute_time"] = std::to_string(durations.forward);
      data[prefix + "backward_compute_time"] = std::to_string(durations.backward);
      data[prefix + "backward_comm_time"] = std::to_string(durations.communication);
      data[prefix + "backward_compute_comm_overlap_time"] = std::to_string(durations.overlap);
    };
    put("", state.times.last());
    put("avg_", state.times.average());
    data["forward_compute_time_start"] = std::to_string(state.times.forwardStart);
    data["backward_compute_time_start"] = std::to_string(state.times.backwardStart);
    data["backward_comm_time_start"] = std::to_string(state.times.communicationStart);
    data["backward_compute_time_end"] = std::to_string(state.times.backwardEnd);
    data["backward_comm_time_end"] = std::to_string(state.times.communicationEnd);
  }
  return data;
}

std::string DistributedDataParallel::bucketSizes() const {
  return sizes(reducer_->plan());
}

}  // namespace lockstep::ddp
