#include "engine/ddp/reducer/BucketPipeline.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>

#include "engine/base/Clock.h"
#include "engine/ddp/SparseExchange.h"
#include "engine/ddp/TensorText.h"
#include "engine/hooks/HookError.h"
#include "engine/hooks/HookTrace.h"
#include "engine/process_group/CommError.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

using hooks::eventBucket;

void BucketPipeline::reset() {
  buckets_.empty();
  next_ = 0;
}

bool BucketPipeline::launchReady(Lock& lock) {
  if (launching_) {
    return false;
  }
  launching_ = true;
  while (next_ < buckets_.size() && buckets_[next_].pending == 0) {
    const std::size_t number = next_;
    const std::uint32_t step = context_.lane.step();
    lock.unlock();
    try {
      if (used_.communicates(number)) {
        lock.lock();
        context_.lane.instant(trace::EventKind::kBucketLaunched, eventBucket(number),
                              buckets_[number].bytes());
        if (context_.times.communicationStart < context_.times.backwardStart) {
          context_.times.communicationStart = DdpTimes::now();
        }
        lock.unlock();
        if (!buckets_[number].sparse()) {
          launch(number, step, buckets_[number].wire(), false);
        }
      }
    } catch (...) {
      lock.lock();
      launching_ = false;
      throw;
    }
    lock.lock();
    ++next_;
  }
  launching_ = false;
  return true;
}

void BucketPipeline::launchZeros() {
  const std::uint32_t step = context_.lane.step();
  for (std::size_t number = 0; number < buckets_.size(); ++number) {
    if (used_.communicates(number) && !buckets_[number].sparse()) {
      launch(number, step, at::zeros_like(buckets_[number].wire()), true);
    }
  }
}

void BucketPipeline::launch(std::size_t number, std::uint32_t step, const at::Tensor& wire,
                            bool shadow) {
  Bucket& bucket = buckets_[number];
  hooks::BucketFacts facts;
  facts.divisor = context_.divisor;
  facts.layout = context_.rebuilt ? 1 : 0;
  facts.shadow = shadow;
  bucket.handed = bucket.forHook(number, buckets_.hooked(), step, wire, facts);
  try {
    bucket.reduced = context_.hook->run(*bucket.handed);
  } catch (const process_group::CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw hooks::HookError(hookFailure(number, error.what()));
  }
}

std::string BucketPipeline::hookFailure(std::size_t number, const std::string& text) const {
  const std::string who =
      fmt::format("hook '{}', rank {}", context_.hook->name(), context_.group->rank());
  const std::string place =
      fmt::format("bucket {} of step {}: ", number, buckets_[number].handed->step());
  // A hook may have named it already: or another one, in which it failed for good.
  return fmt::format("{}: {}{}", who, text.starts_with("bucket ") ? "" : place, text);
}

void BucketPipeline::writeResults(bool shadow) {
  StepLane& lane = context_.lane;
  for (std::size_t number = 0; number < buckets_.size(); ++number) {
    Bucket& bucket = buckets_[number];
    if (!bucket.reduced.has_value()) {
      continue;  // sparse, or unused on every rank
    }
    const auto waiting = lane.now();
    const at::Tensor result = awaitResult(number);
    const auto copying = lane.now();
    if (!shadow) {
      copies_.out(bucket, result);
    }
    bucket.reduced.reset();
    bucket.handed.reset();
    std::lock_guard lock(context_.mutex);
    if (lane.enabled() && !shadow) {
      const std::uint16_t event = eventBucket(number);
      lane.between(trace::EventKind::kWait, waiting, copying, event, bucket.bytes());
      lane.between(trace::EventKind::kCopyOut, copying, lane.now(), event, bucket.bytes());
    }
  }
}

at::Tensor BucketPipeline::awaitResult(std::size_t number) {
  Bucket& bucket = buckets_[number];
  // The collectives inside a hook have the group's time limit; theirs is the better text.
  constexpr std::chrono::milliseconds kGrace{5000};
  const auto asked = context_.options.hookTimeout;
  const auto limit = asked.count() > 0 ? asked : context_.group->timeout() + kGrace;
  if (!bucket.reduced->waitFor(limit)) {
    const std::string inside = context_.hook->inside();
    throw hooks::HookError(
        hookFailure(number, fmt::format("{}gave no result within {} ms of the backward's end{}",
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
    throw hooks::HookError(hookFailure(number, error.what()));
  }
  checkResult(number, result);
  return result.contiguous();
}

void BucketPipeline::checkResult(std::size_t number, const at::Tensor& result) const {
  const at::Tensor& wire = buckets_[number].wire();
  if (result.defined() && result.layout() == c10::kStrided && result.sizes() == wire.sizes() &&
      result.scalar_type() == wire.scalar_type() && result.device() == wire.device()) {
    return;
  }
  throw hooks::HookError(hookFailure(
      number, fmt::format("returned {}; a result must be as the bucket, {} on {}",
                          result.defined()
                              ? fmt::format("{} on {}", describe(result), result.device().str())
                              : "an undefined tensor",
                          describe(wire), wire.device().str())));
}

void BucketPipeline::exchangeSparse(bool shadow) {
  for (std::size_t number = 0; number < buckets_.size(); ++number) {
    const Bucket& bucket = buckets_[number];
    if (!bucket.sparse() || !used_.communicates(number)) {
      continue;
    }
    const std::uint64_t startTicks = base::ticks();
    const std::uint32_t parameter = bucket.parameters().front();
    const at::Tensor& tensor = context_.parameters.tensor(parameter);
    process_group::CallOptions call = context_.callOptions();
    call.bucket = eventBucket(number);
    at::Tensor& grad = tensor.mutable_grad();
    const at::Tensor sum = sumSparse(*context_.group, shadow ? at::Tensor() : grad, tensor.sizes(),
                                     tensor.scalar_type(), call)
                               .to(tensor.device());
    if (!shadow && !used_.keepsGradient(parameter)) {
      sum._values().div_(context_.divisor);
      grad = sum;
    }
    std::lock_guard lock(context_.mutex);
    context_.lane.hostSpan(trace::EventKind::kWait, startTicks, eventBucket(number),
                           bucket.bytes());
  }
}

}  // namespace lockstep::ddp
