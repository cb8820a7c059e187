#include <ATen/ATen.h>
#include <fmt/format.h>

#include "engine/base/Log.h"
#include "engine/ddp/DdpError.h"
#include "engine/ddp/Reducer.h"
#include "engine/ddp/TensorText.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/hooks/HookTrace.h"
#include "engine/process_group/CommError.h"
#include "engine/trace/CoreWait.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

using hooks::eventBucket;

void Reducer::onGradient(std::size_t index, bool gradient) {
  const bool createsGraph = at::GradMode::is_enabled();
  at::NoGradGuard noGrad;
  Lock lock(mutex_);
  if (mode_ == Mode::kIdle) {
    warnUnexpected(index);
    return;
  }
  if (createsGraph) {
    warnHigherOrder();
  }
  lane_.instant(trace::EventKind::kGradientReady, step_, trace::kNoBucket, index);
  trace::CoreWait::ofThisThread().tell(lane_, step_);
  if (gradient) {
    used_.data_ptr<std::int32_t>()[index] = 1;
  }
  if (mode_ == Mode::kAccumulate) {
    accumulated_ = true;
    return;
  }
  try {
    receive(index, lock);
  } catch (const std::exception& error) {
    recordFailure(lock, error);
    throw;
  }
}

void Reducer::receive(std::size_t index, Lock& lock) {
  if (!failure_.empty()) {
    throw DdpError(fmt::format("rank {}: an earlier gradient of this iteration failed: {}",
                               group_->rank(), failure_));
  }
  unfinished_ = true;
  if (recording_) {
    ++firings_[index];
    queueRecordedReduction();
    return;
  }
  takeUnused();
  if (awaited_[index] == 0) {
    throw DdpError(
        options_.staticGraph
            ? fmt::format(
                  "rank {}: parameter {} got more gradients in the backward of step {} than the {} "
                  "of the first backward, which static_graph takes for the rule. The graph "
                  "changed, or the backward ran again: turn static_graph off, or run one backward "
                  "of the same graph",
                  group_->rank(), quoted(parameters_[index].name, index), step_, firings_[index])
            : fmt::format(
                  "rank {}: parameter {} got a second gradient in the backward of step {}, after "
                  "its first was taken for the reduction. It is used outside the wrapped forward, "
                  "or by a re-entrant or repeated backward; call the forward once for each "
                  "backward, put the extra backward under no_sync, or turn static_graph on",
                  group_->rank(), quoted(parameters_[index].name, index), step_));
  }
  if (--awaited_[index] > 0) {
    return;
  }
  take(index);
  if (launchReadyBuckets(lock)) {
    compat::afterThisBackward(device(), [this] { finalize(false); });
  }
}

void Reducer::recordFailure(Lock& lock, const std::exception& error) {
  if (!lock.owns_lock()) {
    lock.lock();
  }
  if (!failure_.empty()) {
    return;
  }
  failure_ = error.what();
  lock.unlock();
  if (dynamic_cast<const process_group::CommError*>(&error) == nullptr) {
    group_->abort(error.what());  // the peers learn why, and not from a time-out
  }
}

void Reducer::warnUnexpected(std::size_t index) {
  if (!warnedUnexpected_) {
    warnedUnexpected_ = true;
    warn(fmt::format(
        "parameter {} got a gradient outside a synchronised forward: it stays on rank {} and is "
        "not averaged. Run the forward through DistributedDataParallel, once for each backward "
        "(said once)",
        quoted(parameters_[index].name, index), group_->rank()));
  }
}

void Reducer::warnHigherOrder() {
  if (!warnedHigherOrder_) {
    warnedHigherOrder_ = true;
    warn(fmt::format(
        "rank {}: a backward with create_graph: the averaged gradients carry no graph, so that "
        "gradients of gradients are of this rank alone (said once)",
        group_->rank()));
  }
}

void Reducer::warn(const std::string& text) {
  base::logWarning("{}", text);
  tracer_.send(trace::toJson(trace::ProblemMessage{"warning", step_, text}));
}

void Reducer::take(std::size_t index) {
  readyOrder_.push_back(static_cast<std::uint32_t>(index));
  triggered_ = triggered_ || index == options_.deferredTrigger;
  if (isDeferred(index)) {
    takeDeferred(index);
    return;
  }
  if (recordsOrder()) {
    recordedOrder_.push_back(static_cast<std::uint32_t>(index));
  }
  const Place place = places_[index];
  Bucket& bucket = *buckets_[place.bucket];
  const bool batched = options_.batchedGradCopy && !bucket.sparse();
  if (batched) {
    checkDense(index, bucket.slice(place.slot));
  } else {
    copyIn(index, bucket, place, hook_->takesShares());
  }
  if (--bucket.pending == 0) {
    if (batched) {
      copyInAll(place.bucket);
    }
    recordInstant(trace::EventKind::kBucketReady, step_, eventBucket(place.bucket), bucket.bytes());
  }
}

void Reducer::takeUnused() {
  if (tookUnused_) {
    return;
  }
  tookUnused_ = true;
  for (const std::uint32_t index : unused_) {
    awaited_[index] = 0;
    lane_.instant(trace::EventKind::kMarkedUnused, step_, trace::kNoBucket, index);
    take(index);
  }
}

void Reducer::queueRecordedReduction() {
  if (!recordingQueued_) {
    recordingQueued_ = true;
    compat::afterThisBackward(device(), [this] { reduceRecorded(); });
  }
}

void Reducer::reduceRecorded() {
  at::NoGradGuard noGrad;
  Lock lock(mutex_);
  try {
    recording_ = false;
    graphRecorded_ = true;
    unused_.clear();
    for (std::uint32_t i = 0; i < parameters_.size(); ++i) {
      if (firings_[i] == 0) {
        unused_.push_back(i);
        lane_.instant(trace::EventKind::kMarkedUnused, step_, trace::kNoBucket, i);
      }
      take(i);
    }
    launchReadyBuckets(lock);
  } catch (const std::exception& error) {
    recordFailure(lock, error);
    throw;
  }
  lock.unlock();
  finalize(false);
}

bool Reducer::checksGradients() {
  const std::int64_t every = options_.gradientCheckEvery;
  if (every <= 0) {
    return false;
  }
  // With accumulation, a step that is due may reduce nothing: the next one that does stands in.
  const std::int64_t period = step_ / every;
  const bool due = step_ % every == 0 || (reducedPeriod_ && *reducedPeriod_ != period);
  reducedPeriod_ = period;
  return due && lane_.enabled();
}

void Reducer::tally(std::size_t index, const Bucket& bucket, const Place& place, bool shares) {
  const at::Tensor& grad = parameters_[index].tensor.grad();
  if (tallies_.empty() || !grad.defined()) {
    return;
  }
  // Right behind the copy, what was copied is still in the cache.
  const std::uint64_t startTicks = base::ticks();
  const std::size_t at = isDeferred(index) ? buckets_.size() : place.bucket;
  // The values of a sparse gradient may be one number that is expanded.
  const at::Tensor measured =
      bucket.sparse() ? grad.coalesce().values().contiguous() : bucket.slice(place.slot);
  tallies_[at].add(static_cast<std::uint32_t>(index), measured, shares ? divisor_ : 1);
  lane_.span(trace::EventKind::kGradientCheck, startTicks, step_,
             isDeferred(index) ? trace::kNoBucket : eventBucket(at), index);
}

void Reducer::sendTallies() {
  if (tallies_.empty()) {
    return;
  }
  trace::GradientsMessage message;
  message.step = step_;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    message.buckets.push_back(tallies_[i].of(eventBucket(i)));
  }
  if (!deferred_.empty()) {
    message.buckets.push_back(tallies_.back().of(trace::kNoBucket));
  }
  tallies_.clear();
  tracer_.send(trace::toJson(message));
}

void Reducer::checkSparse(std::size_t index) const {
  const at::Tensor& grad = parameters_[index].tensor.grad();
  if (!grad.defined()) {
    return;
  }
  if (grad.layout() != c10::kSparse || grad.sparse_dim() != 1) {
    throw DdpError(fmt::format(
        "rank {}: the gradient of parameter {} was declared sparse (rows) and is {}; build the "
        "module without sparse gradients, or do not declare them",
        group_->rank(), quoted(parameters_[index].name, index),
        grad.layout() == c10::kSparse ? "sparse in several dimensions" : "dense"));
  }
}

}  // namespace lockstep::ddp
