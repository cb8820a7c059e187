#include <ATen/ATen.h>
#include <fmt/format.h>

#include "engine/ddp/Reducer.h"
#include "engine/hooks/HookError.h"
#include "engine/hooks/HookTrace.h"
#include "engine/process_group/CommError.h"

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
        lane_.instant(trace::EventKind::kBucketLaunched, step, eventBucket(index),
                      buckets_[index]->bytes());
        if (times_.communicationStart < times_.backwardStart) {
          times_.communicationStart = DdpTimes::now();
        }
        lock.unlock();
        if (!buckets_[index]->sparse()) {
          launch(index, step, buckets_[index]->wire());
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

std::string Reducer::hookPlace(std::size_t index) const {
  return fmt::format("hook '{}', rank {}, bucket {} of {}", hook_->name(), group_->rank(), index,
                     buckets_.size());
}

void Reducer::launch(std::size_t index, std::uint32_t step, const at::Tensor& wire) {
  Bucket& bucket = *buckets_[index];
  bucket.handed = bucket.forHook(index, hookedBuckets_, step, wire);
  try {
    bucket.reduced = hook_->run(*bucket.handed);
  } catch (const process_group::CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw hooks::HookError(fmt::format("{}: {}", hookPlace(index), error.what()));
  }
}

}  // namespace lockstep::ddp
