#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <memory>

#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"
#include "engine/train/DataShape.h"

namespace lockstep::train {

struct Batch {
  at::Tensor input;   ///< [N, DataShape::sample ...]
  at::Tensor target;  ///< int64, [N], or [N, T] for characters

  /// The same on `device`; itself when it is there.
  [[nodiscard]] Batch to(at::Device device) const { return {input.to(device), target.to(device)}; }
};

/// Samples by number, in memory. Reading is [any-thread].
class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual const DataShape& shape() const = 0;
  /// Returns the samples with the given numbers, each in [0, size()), in that order.
  [[nodiscard]] virtual Batch batch(at::IntArrayRef indices) const = 0;
};

struct Datasets {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;
};

/// Makes the two sets of an experiment. Errors: kBadInput for files that are missing, damaged
/// or too small, each naming the file.
base::Result<Datasets> makeDatasets(const experiment::Experiment& experiment);

/// Returns the shape of the samples without reading more than it takes: a text is read for its
/// vocabulary; pictures are taken to be MNIST's, with `classes` not known.
base::Result<DataShape> expectedShape(const experiment::Experiment& experiment);

}  // namespace lockstep::train
