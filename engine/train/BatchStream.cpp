#include "engine/train/BatchStream.h"

#include <algorithm>

#include "engine/base/Check.h"

namespace lockstep::train {

BatchStream::BatchStream(std::shared_ptr<const Dataset> data,
                         const DistributedSampler::Options& sampling, std::int64_t batchSize)
    : data_(std::move(data)),
      sampler_(sampling),
      worldSize_(sampling.worldSize),
      batchSize_(batchSize) {
  LOCKSTEP_CHECK(sampler_.size() > 0 && batchSize_ > 0, "{} samples a rank in batches of {}",
                 sampler_.size(), batchSize_);
}

std::int64_t BatchStream::stepsPerEpoch() const {
  return (sampler_.size() + batchSize_ - 1) / batchSize_;
}

std::int64_t BatchStream::samples() const {
  // The last batch of an epoch may be smaller: what it lacks was not seen.
  return std::min(batch_ * batchSize_, sampler_.size()) * worldSize_;
}

void BatchStream::seek(std::int64_t epoch, std::int64_t samples) {
  epoch_ = epoch;
  // Of all ranks together, so that a checkpoint can be resumed with another number of them: the
  // position is then rounded down to a whole batch.
  batch_ = samples / (batchSize_ * worldSize_);
  if (batch_ >= stepsPerEpoch()) {
    ++epoch_;
    batch_ = 0;
  }
  indices_.clear();
}

Batch BatchStream::next() {
  if (indices_.empty()) {
    indices_ = sampler_.indices(epoch_);
  }
  const auto all = at::IntArrayRef(indices_);
  const auto begin = static_cast<std::size_t>(batch_ * batchSize_);
  const auto count = std::min(static_cast<std::size_t>(batchSize_), all.size() - begin);
  Batch batch = data_->batch(all.slice(begin, count));
  if (++batch_ == stepsPerEpoch()) {
    ++epoch_;
    batch_ = 0;
    indices_.clear();
  }
  return batch;
}

}  // namespace lockstep::train
