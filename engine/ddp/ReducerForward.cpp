#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/Reducer.h"
#include "engine/ddp/TensorText.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

void Reducer::beginForward() {
  {
    std::lock_guard lock(mutex_);
    times_.forwardStart = DdpTimes::now();
    if (options_.deviceSpans != nullptr) {
      options_.deviceSpans->write();  // of the last iteration
    }
  }
  checkReduced(false);
  restorePrecision();
  checkUnchanged();
  rebuildIfDue();
  if (options_.precision != nullptr) {
    options_.precision->lower();
    watchParameters();  // a parameter of another dtype has another accumulator
  }
}

void Reducer::restorePrecision() {
  if (options_.precision != nullptr) {
    options_.precision->restore();
  }
}

void Reducer::fail(std::string text) {
  Lock lock(mutex_);
  failure_ = std::move(text);
  failAndThrow(lock);
}

void Reducer::failForward(const std::string& what) {
  std::string text;
  {
    std::lock_guard lock(mutex_);
    if (!failure_.empty()) {
      return;
    }
    text = failure_ = fmt::format("rank {}: the forward of step {} ended in an exception: {}",
                                  group_->rank(), step_, what);
  }
  group_->abort(text);
}

void Reducer::checkFrozen() {
  for (const NamedTensor& parameter : options_.frozen) {
    if (parameter.tensor.requires_grad()) {
      fail(fmt::format(
          "rank {}: parameter '{}' was frozen when DistributedDataParallel was built and requires "
          "a "
          "gradient now, which would not be reduced; thaw it first, then wrap the model",
          group_->rank(), parameter.name));
    }
  }
}

void Reducer::checkUnchanged() {
  checkFrozen();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& parameter = parameters_[i].tensor;
    if (parameter.scalar_type() != built_[i].first || parameter.device() != built_[i].second) {
      fail(fmt::format(
          "rank {}: parameter {} was {} on {} when DistributedDataParallel was built and is now {} "
          "on {}, so that its gradient would no longer be reduced; convert or move the model "
          "first, then wrap it",
          group_->rank(), quoted(parameters_[i].name, i), specs_[i].dtype, specs_[i].device,
          dtypeName(parameter.scalar_type()), parameter.device().str()));
    }
    if (!parameter.requires_grad()) {
      fail(fmt::format(
          "rank {}: parameter {} was frozen after DistributedDataParallel was built, which would "
          "wait for its gradient; freeze it first, then wrap the model",
          group_->rank(), quoted(parameters_[i].name, i)));
    }
  }
}

void Reducer::checkFinalized() {
  checkReduced(true);
  checkFrozen();
  restorePrecision();  // a backward under no_sync leaves it low
}

void Reducer::checkReduced(bool backwardRequired) {
  Lock lock(mutex_);
  if (!failure_.empty()) {
    throw DdpError(fmt::format(
        "rank {}: an earlier backward failed, and the gradients of the ranks no longer agree: {}",
        group_->rank(), failure_));
  }
  if (unfinished_) {
    failure_ = missingText();
  } else if (backwardRequired && mode_ == Mode::kSynchronise) {
    failure_ = fmt::format(
        "rank {}: the forward of step {} was followed by no backward, so that the other ranks "
        "wait for this rank's gradients: run the backward on every rank (torch::autograd::grad is "
        "none: it gives gradients to no parameter), or the forward without gradients "
        "(at::NoGradGuard)",
        group_->rank(), step_);
  } else {
    return;
  }
  failAndThrow(lock);
}

void Reducer::failAndThrow(Lock& lock) {
  const std::string text = failure_;
  lock.unlock();
  group_->abort(text);
  throw DdpError(text);
}

std::string Reducer::missingText() const {
  if (recording_) {
    return fmt::format(
        "rank {}: the backward of step {}, which static_graph records, did not come to its end",
        group_->rank(), step_);
  }
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (awaited_[i] != 0) {
      missing.push_back(quoted(parameters_[i].name, i));
    }
  }
  if (options_.staticGraph) {
    return fmt::format(
        "rank {}: the backward of step {} gave {} of {} parameters fewer gradients than the first "
        "backward, which static_graph takes for the rule: {}. The graph changed: turn static_graph "
        "off (find_unused_parameters allows for changes), or keep the graph",
        group_->rank(), step_, missing.size(), parameters_.size(), listed(missing));
  }
  return fmt::format(
      "rank {}: the backward of step {} gave no gradient to {} of {} parameters: {}; {} of {} "
      "buckets were not reduced, and the gradients on this rank are still its own. Every "
      "parameter must take part in the loss on every rank: freeze (requires_grad = false) or "
      "remove those that do not{}",
      group_->rank(), step_, missing.size(), parameters_.size(), listed(missing),
      buckets_.size() - nextBucket_, buckets_.size(),
      options_.findUnusedParameters ? "; they are in the graph of the forward's outputs, which the "
                                      "backward did not start from"
                                    : ", or turn find_unused_parameters on");
}

void Reducer::resetIteration() {
  for (auto& bucket : buckets_) {
    bucket->pending = bucket->size();
  }
  for (auto& bucket : deferred_) {
    bucket->pending = bucket->size();
  }
  nextBucket_ = 0;
  triggered_ = false;
  launchedAll_ = false;
  tookUnused_ = false;
  recordingQueued_ = false;
  readyOrder_.clear();
  if (recordsOrder()) {
    recordedOrder_.clear();
  }
}

void Reducer::prepareForBackward(const std::vector<at::Tensor*>& outputs) {
  Lock lock(mutex_);
  resetIteration();
  tallies_.assign(checksGradients() ? buckets_.size() + 1 : 0, {});
  recording_ = options_.staticGraph && !graphRecorded_;
  if (recording_) {
    std::fill(firings_.begin(), firings_.end(), 0);
    std::fill(awaited_.begin(), awaited_.end(), 0);
  } else if (options_.staticGraph) {
    awaited_ = firings_;
  } else {
    std::fill(awaited_.begin(), awaited_.end(), 1);
  }
  if (searchesUnused()) {
    searchUnused(outputs, lock);
    announceBuckets(true);
  }
  if (searchesUnused() || recording_) {
    compat::passThroughOneNode(outputs, [this, weak = std::weak_ptr(alive_)] {
      if (weak.expired()) {
        return;  // the graph outlived this Reducer
      }
      Lock inBackward(mutex_);
      if (mode_ == Mode::kSynchronise && recording_) {
        queueRecordedReduction();
      }
    });
  }
  mode_ = Mode::kSynchronise;
  times_.backwardStart = DdpTimes::now();
}

void Reducer::searchUnused(const std::vector<at::Tensor*>& outputs, Lock& lock) {
  const std::uint64_t startTicks = base::ticks();
  std::vector<at::Tensor> tensors;
  for (const at::Tensor* output : outputs) {
    if (output->defined() && output->requires_grad()) {
      tensors.push_back(*output);
    }
  }
  if (tensors.empty()) {
    failure_ = fmt::format(
        "rank {}: find_unused_parameters found no tensor with a gradient in what the forward of "
        "step {} returned; return the outputs from the wrapped forward (tensors, containers of "
        "them, or a struct with visitTensors())",
        group_->rank(), step_);
    failAndThrow(lock);
  }
  std::vector<std::uint32_t> unused = ddp::unusedParameters(tensors, accumulators_);
  unusedStayed_ = unusedStayed_ && (reductions_ == 0 || unused == unused_);
  unused_ = std::move(unused);
  lane_.span(trace::EventKind::kSearchUnused, startTicks, step_, trace::kNoBucket, unused_.size());
}

void Reducer::announceBuckets(bool takesPart) {
  if (!searchesUnused() || !options_.skipUnusedBuckets) {
    return;
  }
  // Skipping by this rank's own view alone would leave the others waiting.
  bucketsInUse_ = at::zeros({static_cast<std::int64_t>(buckets_.size())}, at::kInt);
  auto* inUse = bucketsInUse_.data_ptr<std::int32_t>();
  const auto* used = used_.data_ptr<std::int32_t>();
  for (std::uint32_t i = 0; takesPart && i < planned_; ++i) {
    // A gradient left from no_sync counts, although this graph does not reach the parameter.
    if (used[i] != 0 || !std::binary_search(unused_.begin(), unused_.end(), i)) {
      inUse[places_[i].bucket] = 1;
    }
  }
  process_group::CallOptions options;
  options.step = step_;
  bucketsWork_ = group_->allreduce({bucketsInUse_}, process_group::ReduceOp::kSum, options);
}

void Reducer::accumulateLocally() {
  std::lock_guard lock(mutex_);
  mode_ = Mode::kAccumulate;
  accumulated_ = false;
}

void Reducer::endAccumulation() {
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(accumulated_, false)) {
      return;
    }
  }
  restorePrecision();
}

void Reducer::shadowForward() {
  checkReduced(false);
  rebuildIfDue();
}

void Reducer::shadowBackward(bool synchronise) {
  if (!synchronise) {
    return;
  }
  at::NoGradGuard noGrad;
  std::uint32_t step = 0;
  {
    std::lock_guard lock(mutex_);
    resetIteration();
    used_.zero_();
    step = step_;
    announceBuckets(false);
  }
  for (std::size_t index = 0; index < buckets_.size(); ++index) {
    if (communicates(index) && !buckets_[index]->sparse()) {
      launch(index, step, at::zeros_like(buckets_[index]->wire()), true);
    }
  }
  launchUsedMap(step);
  finalize(true);
}

Reducer::State Reducer::state() const {
  std::lock_guard lock(mutex_);
  return {times_, unused_, usedBy_, readyOrder_, failure_};
}

void Reducer::setStep(std::uint32_t step) {
  std::lock_guard lock(mutex_);
  step_ = step;
}

Reducer::Moment Reducer::now() const {
  return {base::ticks(), options_.deviceSpans != nullptr ? options_.deviceSpans->now() : nullptr};
}

void Reducer::recordBetween(trace::EventKind kind, const Moment& begin, const Moment& end,
                            std::uint16_t bucket, std::uint64_t value, std::uint16_t detail) {
  if (options_.deviceSpans != nullptr) {
    options_.deviceSpans->add(lane_, kind, begin.point, end.point, step_, bucket, value, detail);
  } else {
    lane_.spanUntil(kind, begin.ticks, end.ticks, step_, bucket, value, detail);
  }
}

void Reducer::recordInstant(trace::EventKind kind, std::uint32_t step, std::uint16_t bucket,
                            std::uint64_t value) {
  if (options_.deviceSpans != nullptr) {
    const auto point = options_.deviceSpans->now();
    options_.deviceSpans->add(lane_, kind, point, point, step, bucket, value);
  } else {
    lane_.instant(kind, step, bucket, value);
  }
}

void Reducer::recordSpan(trace::EventKind kind, std::uint64_t startTicks) {
  std::lock_guard lock(mutex_);
  lane_.span(kind, startTicks, step_);
}

}  // namespace lockstep::ddp
