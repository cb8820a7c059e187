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

// Note [Launching in order]
//
// All ranks must call the collectives of a group in one order, but gradients become ready in an
// order of each rank's own. So buckets are launched by index: a full bucket waits until all before
// it are launched. With 3 buckets that fill in the order 1, 0, 2:
//
//   bucket 1 full   next_ = 0, not full: nothing
//   bucket 0 full   launches 0, then finds 1 full and launches it    next_ = 2
//   bucket 2 full   launches 2                                       next_ = 3, none left
//
// This is c10d's rule; its cost, a late bucket 0 that holds all others back, is why buckets are
// rebuilt in the order in which gradients come.
//
// The hook runs without the mutex, so that other threads can go on copying gradients. `launching_`
// keeps a second thread from overtaking with the next bucket; `next_` moves on after the hook has
// returned, so that left() counts a bucket whose hook still runs as not launched.
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
      // Asked without the mutex: the first time it waits for the ranks' agreement.
      if (used_.communicates(number)) {
        lock.lock();
        context_.lane.instant(trace::EventKind::kBucketLaunched, eventBucket(number),
                              buckets_[number].bytes());
        // Older than this backward: it is of the last one, and this is the first launch.
        if (context_.times.communicationStart < context_.times.backwardStart) {
          context_.times.communicationStart = DdpTimes::now();
        }
        lock.unlock();
        // A sparse gradient stays in its parameter until exchangeSparse().
        if (!buckets_[number].sparse()) {
          launch(number, step, buckets_[number].wire(), false);
        }
      }
    } catch (...) {
      // The caller notes the failure under the mutex; a later launch must not find one under way.
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
  // Kept until the result is there: the hook may go on using it after run() has returned.
  bucket.handed = bucket.forHook(number, buckets_.hooked(), step, wire, facts);
  try {
    bucket.reduced = context_.hook->run(*bucket.handed);
  } catch (const process_group::CommError&) {
    // It names operation, rank and peers already, and the group is broken for good.
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
    const auto arrived = lane.now();
    auto copying = arrived;
    if (!shadow) {
      std::lock_guard lock(context_.mutex);
      if (checks_.measureReduced(number, result, bucket.bytes())) {
        copying = lane.now();
      }
    }
    // A rank without inputs waits like the others, so that the hook and its state end the step as
    // theirs do, and drops the result.
    if (!shadow) {
      copies_.out(bucket, result);
    }
    bucket.reduced.reset();
    bucket.handed.reset();
    std::lock_guard lock(context_.mutex);
    if (lane.enabled() && !shadow) {
      const std::uint16_t event = eventBucket(number);
      lane.between(trace::EventKind::kWait, waiting, arrived, event, bucket.bytes());
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
    // Of a device, the future may only say that the work is queued: the copy out must come after it
    // on the stream of this thread.
    bucket.handed->order();
  } catch (const process_group::CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw hooks::HookError(hookFailure(number, error.what()));
  }
  checkResult(number, result);
  // The gradients are cut out of it as if it were the bucket's own memory.
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
    // A rank without inputs offers no entries, but has to take part: an allgather needs every rank.
    const at::Tensor sum = sumSparse(*context_.group, shadow ? at::Tensor() : grad, tensor.sizes(),
                                     tensor.scalar_type(), call)
                               .to(tensor.device());
    if (!shadow && !used_.keepsGradient(parameter)) {
      // Divided after the sum, as by c10d: the values here are no copy that could be divided on the
      // way in.
      sum._values().div_(context_.divisor);
      grad = sum;
    }
    std::lock_guard lock(context_.mutex);
    context_.lane.hostSpan(trace::EventKind::kWait, startTicks, eventBucket(number),
                           bucket.bytes());
  }
}

}  // namespace lockstep::ddp
