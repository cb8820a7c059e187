#include <ATen/ATen.h>
#include <fmt/format.h>

#include "engine/ddp/Reducer.h"
#include "engine/hooks/HookError.h"
#include "engine/hooks/HookTrace.h"
#include "engine/process_group/CommError.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

using hooks::eventBucket;

bool Reducer::launchReadyBuckets(Lock& lock) {
  if (launching_ || launchedAll_) {
    return false;  // the thread that is at it will see this bucket, too
  }
  launching_ = true;
  while (nextBucket_ < buckets_.size() && buckets_[nextBucket_]->pending == 0) {
    const std::size_t index = nextBucket_;
    const std::uint32_t step = step_;
    lock.unlock();
    try {
      if (communicates(index)) {
        lock.lock();
        recordInstant(trace::EventKind::kBucketLaunched, step, eventBucket(index),
                      buckets_[index]->bytes());
        if (times_.communicationStart < times_.backwardStart) {
          times_.communicationStart = DdpTimes::now();
        }
        lock.unlock();
        if (!buckets_[index]->sparse()) {
          launch(index, step, buckets_[index]->wire(), false);
        }
      }
    } catch (...) {
      lock.lock();
      launching_ = false;
      throw;
    }
    lock.lock();
    ++nextBucket_;
  }
  launching_ = false;
  if (!launchDeferred() || nextBucket_ < buckets_.size()) {
    return false;
  }
  launchedAll_ = true;
  launchUsedMap(step_);
  return true;
}

bool Reducer::communicates(std::size_t bucket) {
  if (bucketsWork_ == nullptr) {
    return true;
  }
  bucketsWork_->wait();
  return bucketsInUse_.data_ptr<std::int32_t>()[bucket] != 0;
}

void Reducer::launchUsedMap(std::uint32_t step) {
  if (!searchesUnused() && !(options_.staticGraph && reductions_ == 0)) {
    return;
  }
  usedAnywhere_ = used_.clone();
  process_group::CallOptions options;
  options.step = step;
  usedWork_ = group_->allreduce({usedAnywhere_}, process_group::ReduceOp::kSum, options);
}

std::string Reducer::hookFailure(std::size_t index, const std::string& text) const {
  const std::string who = fmt::format("hook '{}', rank {}", hook_->name(), group_->rank());
  const std::string place =
      fmt::format("bucket {} of step {}: ", index, buckets_[index]->handed->step());
  // A hook may have named it already: or another one, in which it failed for good.
  return fmt::format("{}: {}{}", who, text.starts_with("bucket ") ? "" : place, text);
}

void Reducer::launch(std::size_t index, std::uint32_t step, const at::Tensor& wire, bool shadow) {
  Bucket& bucket = *buckets_[index];
  hooks::BucketFacts facts;
  facts.divisor = divisor_;
  facts.layout = rebuilt_ ? 1 : 0;
  facts.shadow = shadow;
  bucket.handed = bucket.forHook(index, hookedBuckets_, step, wire, facts);
  try {
    bucket.reduced = hook_->run(*bucket.handed);
  } catch (const process_group::CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw hooks::HookError(hookFailure(index, error.what()));
  }
}

}  // namespace lockstep::ddp
