#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/Reducer.h"
#include "engine/ddp/SparseExchange.h"
#include "engine/ddp/TensorText.h"
#include "engine/hooks/HookError.h"
#include "engine/hooks/HookTrace.h"
#include "engine/process_group/CommError.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

using hooks::eventBucket;

void Reducer::finalize(bool shadow) {
  at::NoGradGuard noGrad;
  const Moment start = now();
  const std::int64_t backwardEnd = DdpTimes::now();
  try {
    for (std::size_t index = 0; index < buckets_.size(); ++index) {
      Bucket& bucket = *buckets_[index];
      if (!bucket.reduced.has_value()) {
        continue;  // sparse, or unused on every rank
      }
      const Moment waiting = now();
      const at::Tensor result = awaitResult(index);
      const Moment copying = now();
      if (!shadow) {
        copyOut(bucket, result);
      }
      bucket.reduced.reset();
      bucket.handed.reset();
      std::lock_guard lock(mutex_);
      if (lane_.enabled() && !shadow) {
        const std::uint16_t number = eventBucket(index);
        recordBetween(trace::EventKind::kWait, waiting, copying, number, bucket.bytes());
        recordBetween(trace::EventKind::kCopyOut, copying, now(), number, bucket.bytes());
      }
    }
    awaitDeferred();
    for (std::size_t index = 0; index < buckets_.size(); ++index) {
      if (buckets_[index]->sparse() && communicates(index)) {
        reduceSparse(index, shadow);
      }
    }
    awaitUsedMap();
  } catch (const std::exception& error) {
    Lock lock(mutex_);
    recordFailure(lock, error);
    throw;
  }
  finish(shadow, start, backwardEnd);
}

void Reducer::finish(bool shadow, const Moment& start, std::int64_t backwardEnd) {
  restorePrecision();
  std::lock_guard lock(mutex_);
  mode_ = Mode::kIdle;
  unfinished_ = false;
  ++reductions_;
  if (usedAnywhere_.defined()) {
    const auto* ranks = usedAnywhere_.data_ptr<std::int32_t>();
    usedBy_.assign(ranks, ranks + usedAnywhere_.numel());
  }
  const auto byAll = [this](std::int32_t ranks) { return ranks >= group_->size(); };
  if (searchesUnused() && !usedBy_.empty() && std::all_of(usedBy_.begin(), usedBy_.end(), byAll)) {
    ++searchedInVain_;
  }
  if (searchesUnused()) {
    used_.zero_();
  }
  bucketsWork_.reset();
  sendTallies();
  if (!shadow) {
    recordBetween(trace::EventKind::kFinalize, start, now());
    times_.backwardEnd = backwardEnd;
    times_.communicationEnd = DdpTimes::now();
    times_.count();
  }
}

// At the end, when all backwards are known: one that left a parameter out would have been right to
// search, however many before it did not.
void Reducer::warnAllUsed() {
  if (group_->rank() == 0 && failure_.empty() && reductions_ > 1 &&
      searchedInVain_ == reductions_) {
    warn(fmt::format("find_unused_parameters is on, and every rank used every parameter in all {} "
                     "backwards: turned off, each would be spared the search of the graph",
                     reductions_));
  }
}

void Reducer::awaitUsedMap() {
  if (usedWork_ == nullptr) {
    return;
  }
  const std::uint64_t startTicks = base::ticks();
  usedWork_->wait();
  usedWork_.reset();
  recordSpan(trace::EventKind::kUsedMap, startTicks);
}

bool Reducer::keepsGradient(std::size_t index) {
  if (!usedAnywhere_.defined() || used_.data_ptr<std::int32_t>()[index] != 0) {
    return false;
  }
  awaitUsedMap();
  return usedAnywhere_.data_ptr<std::int32_t>()[index] == 0;
}

void Reducer::reduceSparse(std::size_t index, bool shadow) {
  const std::uint64_t startTicks = base::ticks();
  const std::uint32_t parameter = buckets_[index]->parameters().front();
  const at::Tensor& tensor = parameters_[parameter].tensor;
  process_group::CallOptions options;
  options.bucket = eventBucket(index);
  options.step = step_;
  at::Tensor& grad = tensor.mutable_grad();
  const at::Tensor sum = sumSparse(*group_, shadow ? at::Tensor() : grad, tensor.sizes(),
                                   tensor.scalar_type(), options)
                             .to(tensor.device());
  if (!shadow && !keepsGradient(parameter)) {
    sum._values().div_(divisor_);
    grad = sum;
  }
  std::lock_guard lock(mutex_);
  lane_.span(trace::EventKind::kWait, startTicks, step_, eventBucket(index),
             buckets_[index]->bytes());
}

at::Tensor Reducer::awaitResult(std::size_t index) {
  Bucket& bucket = *buckets_[index];
  // The collectives inside a hook have the group's time limit; theirs is the better text.
  constexpr std::chrono::milliseconds kGrace{5000};
  const auto limit =
      options_.hookTimeout.count() > 0 ? options_.hookTimeout : group_->timeout() + kGrace;
  if (!bucket.reduced->waitFor(limit)) {
    const std::string inside = hook_->inside();
    throw hooks::HookError(
        hookFailure(index, fmt::format("{}gave no result within {} ms of the backward's end{}",
                                       inside.empty() ? "" : inside + ": ", limit.count(),
                                       inside.empty() ? "" : ", and has not come back")));
  }
  at::Tensor result;
  try {
    result = bucket.reduced->value();
    bucket.handed->order();
  } catch (const process_group::CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw hooks::HookError(hookFailure(index, error.what()));
  }
  checkHookResult(index, result);
  return result.contiguous();
}

void Reducer::checkHookResult(std::size_t index, const at::Tensor& result) const {
  const at::Tensor& wire = buckets_[index]->wire();
  if (result.defined() && result.layout() == c10::kStrided && result.sizes() == wire.sizes() &&
      result.scalar_type() == wire.scalar_type() && result.device() == wire.device()) {
    return;
  }
  throw hooks::HookError(hookFailure(
      index, fmt::format("returned {}; a result must be as the bucket, {} on {}",
                         result.defined()
                             ? fmt::format("{} on {}", describe(result), result.device().str())
                             : "an undefined tensor",
                         describe(wire), wire.device().str())));
}

}  // namespace lockstep::ddp
