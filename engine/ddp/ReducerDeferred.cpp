#include <ATen/ATen.h>
#include <fmt/format.h>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/Reducer.h"
#include "engine/ddp/TensorText.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

// Parameters whose gradients are not in the buckets: one allreduce for all, when the gradient of
// one parameter, the trigger, says that theirs have come (PyTorch's
// delay_all_reduce_named_params and param_to_hook_all_reduce).

void Reducer::makeDeferred() {
  const std::vector<buckets::TensorSpec> specs(
      specs_.begin() + static_cast<std::ptrdiff_t>(planned_), specs_.end());
  // The first buckets of c10d-1.13: no limit, one for each dtype and device.
  auto plan = buckets::planConstruction(specs, buckets::BucketRule::kC10d113, {});
  for (auto& planned : plan.buckets) {
    for (std::uint32_t& index : planned.parameters) {
      index += static_cast<std::uint32_t>(planned_);
    }
    const Bucket& bucket = *deferred_.emplace_back(makeBucket(planned));
    for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
      places_[bucket.parameters()[slot]] = {static_cast<std::uint32_t>(deferred_.size() - 1),
                                            static_cast<std::uint32_t>(slot)};
    }
  }
}

void Reducer::takeDeferred(std::size_t index) {
  const Place place = places_[index];
  Bucket& bucket = *deferred_[place.bucket];
  copyIn(index, bucket, place, /*shares=*/true);
  --bucket.pending;
}

bool Reducer::launchDeferred() {
  if (deferred_.empty() || !deferredWorks_.empty()) {
    return true;
  }
  // Where ranks may differ in what they use, a place of its own keeps the collectives in order.
  if (!triggered_ || (searchesUnused() && nextBucket_ < buckets_.size())) {
    return false;
  }
  for (std::size_t i = planned_; i < parameters_.size(); ++i) {
    if (awaited_[i] != 0) {
      throw DdpError(fmt::format(
          "rank {}: parameter {} is to be reduced when parameter {} has its gradient, and had none "
          "by then in the backward of step {}; name a parameter whose gradient comes later, or "
          "leave this one in its bucket",
          group_->rank(), quoted(parameters_[i].name, i),
          quoted(parameters_[options_.deferredTrigger].name, options_.deferredTrigger), step_));
    }
  }
  process_group::CallOptions options;
  options.step = step_;
  for (const auto& bucket : deferred_) {
    deferredWorks_.push_back(
        group_->allreduce({bucket->wire()}, process_group::ReduceOp::kSum, options));
  }
  return true;
}

void Reducer::awaitDeferred() {
  for (std::size_t i = 0; i < deferredWorks_.size(); ++i) {
    Bucket& bucket = *deferred_[i];
    const Moment waiting = now();
    deferredWorks_[i]->wait();
    const Moment copying = now();
    copyOut(bucket, bucket.wire());
    std::lock_guard lock(mutex_);
    recordBetween(trace::EventKind::kWait, waiting, copying, trace::kNoBucket, bucket.bytes());
    recordBetween(trace::EventKind::kCopyOut, copying, now(), trace::kNoBucket, bucket.bytes());
  }
  deferredWorks_.clear();
}

}  // namespace lockstep::ddp
