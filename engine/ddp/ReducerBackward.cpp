#include <ATen/ATen.h>
#include <fmt/format.h>

#include "engine/base/Log.h"
#include "engine/ddp/DdpError.h"
#include "engine/ddp/Reducer.h"
#include "engine/ddp/TensorText.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/hooks/HookError.h"
#include "engine/hooks/HookTrace.h"
#include "engine/process_group/CommError.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

using hooks::eventBucket;

namespace {

/// Whether the gradient is the slice itself.
bool sameMemory(const at::Tensor& grad, const at::Tensor& slice) {
  return grad.is_alias_of(slice) && grad.storage_offset() == slice.storage_offset() &&
         grad.strides() == slice.strides();
}

}  // namespace

void Reducer::onGradient(std::size_t index) {
  at::NoGradGuard noGrad;
  std::unique_lock lock(mutex_);
  if (mode_ == Mode::kIdle) {
    warnUnexpected(index);
    return;
  }
  lane_.instant(trace::EventKind::kGradientReady, step_, trace::kNoBucket, index);
  if (mode_ == Mode::kAccumulate) {
    return;
  }
  try {
    if (!failure_.empty()) {
      throw DdpError(fmt::format("rank {}: an earlier gradient of this backward failed: {}",
                                 group_->rank(), failure_));
    }
    if (ready_[index] != 0) {
      throw DdpError(fmt::format(
          "rank {}: parameter {} got a second gradient in the backward of step {}, after its "
          "first was taken for the reduction. It is used outside the wrapped forward, or by a "
          "re-entrant or repeated backward; call the forward once for each backward, or put the "
          "extra backward under no_sync",
          group_->rank(), quoted(parameters_[index].name, index), step_));
    }
    ready_[index] = 1;
    unfinished_ = true;
    if (!rebuilt_) {
      readyOrder_.push_back(static_cast<std::uint32_t>(index));
    }
    const Place place = places_[index];
    copyIn(index, place);
    Bucket& bucket = *buckets_[place.bucket];
    if (--bucket.pending == 0) {
      lane_.instant(trace::EventKind::kBucketReady, step_, eventBucket(place.bucket),
                    bucket.bytes());
      launchReadyBuckets(lock);
    }
  } catch (const std::exception& error) {
    if (!lock.owns_lock()) {
      lock.lock();
    }
    fail(error.what());
    throw;
  }
}

void Reducer::fail(const char* text) {
  if (failure_.empty()) {
    failure_ = text;
  }
}

void Reducer::warnUnexpected(std::size_t index) {
  if (warnedUnexpected_) {
    return;
  }
  warnedUnexpected_ = true;
  const std::string text = fmt::format(
      "parameter {} got a gradient outside a synchronised forward: it stays on rank {} and is "
      "not averaged. Run the forward through DistributedDataParallel, once for each backward "
      "(said once)",
      quoted(parameters_[index].name, index), group_->rank());
  base::logWarning("{}", text);
  tracer_.send(trace::toJson(trace::ProblemMessage{"warning", step_, text}));
}

void Reducer::copyIn(std::size_t index, const Place& place) {
  const std::uint64_t startTicks = base::ticks();
  const at::Tensor& slice = buckets_[place.bucket]->slice(place.slot);
  at::Tensor& grad = parameters_[index].tensor.mutable_grad();
  if (!grad.defined()) {
    slice.zero_();
  } else if (grad.layout() != c10::kStrided || grad.scalar_type() != slice.scalar_type() ||
             grad.device() != slice.device()) {
    throw DdpError(fmt::format(
        "rank {}: the gradient of parameter {} is {}{} on {}; its bucket holds {} on {}",
        group_->rank(), quoted(parameters_[index].name, index),
        grad.layout() == c10::kStrided ? "" : "sparse ", dtypeName(grad.scalar_type()),
        grad.device().str(), dtypeName(slice.scalar_type()), slice.device().str()));
  } else if (sameMemory(grad, slice)) {
    if (hook_->takesShares()) {
      slice.div_(group_->size());
    }
  } else {
    if (hook_->takesShares()) {
      at::Tensor out = slice;
      at::mul_out(out, grad, inverse_);  // one pass: copies and divides
    } else {
      slice.copy_(grad);
    }
    if (options_.gradientAsBucketView) {
      grad = slice;
    }
  }
  lane_.span(trace::EventKind::kCopyIn, startTicks, step_, eventBucket(place.bucket), index);
}

void Reducer::launchReadyBuckets(std::unique_lock<std::mutex>& lock) {
  if (launching_) {
    return;  // the thread that is at it will see this bucket, too
  }
  launching_ = true;
  while (nextBucket_ < buckets_.size() && buckets_[nextBucket_]->pending == 0) {
    const std::size_t index = nextBucket_;
    const std::uint32_t step = step_;
    lane_.instant(trace::EventKind::kBucketLaunched, step, eventBucket(index),
                  buckets_[index]->bytes());
    lock.unlock();
    try {
      launch(index, step);
    } catch (...) {
      lock.lock();
      launching_ = false;
      throw;
    }
    lock.lock();
    ++nextBucket_;
  }
  launching_ = false;
  if (nextBucket_ == buckets_.size()) {
    compat::afterThisBackward([this] { finalize(); });
  }
}

std::string Reducer::hookPlace(std::size_t index) const {
  return fmt::format("hook '{}', rank {}, bucket {} of {}", hook_->name(), group_->rank(), index,
                     buckets_.size());
}

void Reducer::launch(std::size_t index, std::uint32_t step) {
  Bucket& bucket = *buckets_[index];
  bucket.handed = bucket.forHook(index, buckets_.size(), step);
  try {
    bucket.reduced = hook_->run(*bucket.handed);
  } catch (const process_group::CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw hooks::HookError(fmt::format("{}: {}", hookPlace(index), error.what()));
  }
}

void Reducer::finalize() {
  at::NoGradGuard noGrad;
  const std::uint64_t startTicks = base::ticks();
  try {
    for (std::size_t index = 0; index < buckets_.size(); ++index) {
      Bucket& bucket = *buckets_[index];
      const std::uint64_t waitTicks = base::ticks();
      const at::Tensor result = awaitResult(index);
      const std::uint64_t copyTicks = base::ticks();
      copyOut(bucket, result);
      bucket.reduced.reset();
      bucket.handed.reset();
      std::lock_guard lock(mutex_);
      if (lane_.enabled()) {
        lane_.spanUntil(trace::EventKind::kWait, waitTicks, copyTicks, step_, eventBucket(index),
                        bucket.bytes());
        lane_.span(trace::EventKind::kCopyOut, copyTicks, step_, eventBucket(index),
                   bucket.bytes());
      }
    }
  } catch (const std::exception& error) {
    std::lock_guard lock(mutex_);
    fail(error.what());
    throw;
  }
  std::lock_guard lock(mutex_);
  mode_ = Mode::kIdle;
  unfinished_ = false;
  lane_.span(trace::EventKind::kFinalize, startTicks, step_);
}

at::Tensor Reducer::awaitResult(std::size_t index) {
  Bucket& bucket = *buckets_[index];
  // The collectives inside a hook have the group's time limit; theirs is the better text.
  constexpr std::chrono::milliseconds kGrace{5000};
  const auto limit =
      options_.hookTimeout.count() > 0 ? options_.hookTimeout : group_->timeout() + kGrace;
  if (!bucket.reduced->waitFor(limit)) {
    throw hooks::HookError(fmt::format("{}: gave no result within {} ms of the backward's end",
                                       hookPlace(index), limit.count()));
  }
  at::Tensor result;
  try {
    result = bucket.reduced->value();
  } catch (const process_group::CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw hooks::HookError(fmt::format("{}: {}", hookPlace(index), error.what()));
  }
  checkHookResult(index, result);
  return result;
}

void Reducer::checkHookResult(std::size_t index, const at::Tensor& result) const {
  const at::Tensor& buffer = buckets_[index]->buffer();
  if (result.defined() && result.layout() == c10::kStrided && result.sizes() == buffer.sizes() &&
      result.scalar_type() == buffer.scalar_type() && result.device() == buffer.device()) {
    return;
  }
  throw hooks::HookError(fmt::format(
      "{}: returned {}; a result must be as the bucket, {} on {}", hookPlace(index),
      result.defined() ? fmt::format("{} on {}", describe(result), result.device().str())
                       : "an undefined tensor",
      describe(buffer), buffer.device().str()));
}

void Reducer::copyOut(Bucket& bucket, const at::Tensor& result) {
  const bool inPlace = sameMemory(result, bucket.buffer());
  if (!inPlace && options_.gradientAsBucketView) {
    at::Tensor buffer = bucket.buffer();
    buffer.copy_(result);
  }
  for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
    const std::uint32_t index = bucket.parameters()[slot];
    at::Tensor& grad = parameters_[index].tensor.mutable_grad();
    if (options_.gradientAsBucketView) {
      if (!grad.defined()) {
        grad = bucket.slice(slot);
      } else if (!sameMemory(grad, bucket.slice(slot))) {
        throw DdpError(fmt::format(
            "rank {}: the gradient of parameter {} was replaced during the backward; with "
            "gradient_as_bucket_view it must stay the view that DistributedDataParallel set",
            group_->rank(), quoted(parameters_[index].name, index)));
      }
      continue;
    }
    const at::Tensor reduced = inPlace ? bucket.slice(slot) : bucket.sliceOf(result, slot);
    if (grad.defined()) {
      grad.copy_(reduced);
    } else {
      grad = reduced.clone();
    }
  }
}

}  // namespace lockstep::ddp
