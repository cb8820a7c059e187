#pragma once

#include <memory>
#include <vector>

#include "engine/train/data/Dataset.h"
#include "engine/train/data/DistributedSampler.h"

namespace lockstep::train {

/// This rank's batches, epoch after epoch, as a DataLoader over a DistributedSampler gives them
/// with set_epoch called: the last batch of an epoch may be smaller. [step-thread]
class BatchStream {
 public:
  BatchStream(std::shared_ptr<const Dataset> data, const DistributedSampler::Options& sampling,
              std::int64_t batchSize);

  /// Goes to `epoch`, after its first `samples` samples (of all ranks together), whole batches.
  void seek(std::int64_t epoch, std::int64_t samples);

  Batch next();

  [[nodiscard]] std::int64_t stepsPerEpoch() const;
  /// Epoch of the next batch, and how many of its samples all ranks together have had.
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] std::int64_t samples() const;

 private:
  std::shared_ptr<const Dataset> data_;
  DistributedSampler sampler_;
  std::int64_t worldSize_;
  std::int64_t batchSize_;
  std::int64_t epoch_ = 0;
  std::int64_t batch_ = 0;             // of the epoch, the next one
  std::vector<std::int64_t> indices_;  // of epoch_; empty = not dealt yet
};

}  // namespace lockstep::train
