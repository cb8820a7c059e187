#include <ATen/ATen.h>

#include <utility>

#include "engine/base/Check.h"
#include "engine/hooks/CommHook.h"

namespace lockstep::hooks {

GradBucket::GradBucket(std::size_t index, std::size_t count, std::uint32_t step, at::Tensor buffer,
                       std::vector<std::int64_t> offsets, std::vector<std::int64_t> lengths,
                       std::vector<std::vector<std::int64_t>> shapes,
                       std::vector<at::Tensor> parameters,
                       std::vector<std::uint32_t> parameterIndices, BucketFacts facts)
    : index_(index),
      count_(count),
      step_(step),
      buffer_(std::move(buffer)),
      offsets_(std::move(offsets)),
      lengths_(std::move(lengths)),
      shapes_(std::move(shapes)),
      parameters_(std::move(parameters)),
      parameterIndices_(std::move(parameterIndices)),
      facts_(facts) {
  LOCKSTEP_CHECK(offsets_.size() == parameters_.size() && lengths_.size() == parameters_.size() &&
                     shapes_.size() == parameters_.size() &&
                     parameterIndices_.size() == parameters_.size(),
                 "bucket {}: {} offsets, {} lengths, {} shapes, {} indices for {} parameters",
                 index_, offsets_.size(), lengths_.size(), shapes_.size(), parameterIndices_.size(),
                 parameters_.size());
}

std::vector<at::Tensor> GradBucket::gradients() const {
  std::vector<at::Tensor> views;
  views.reserve(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& parameter = parameters_[i];
    // A dense parameter's gradient lies in the bucket in the parameter's own layout
    // (channels-last included), any other in row-major order.
    if (parameter.is_non_overlapping_and_dense()) {
      views.push_back(buffer_.as_strided(shapes_[i], parameter.strides(),
                                         buffer_.storage_offset() + offsets_[i]));
    } else {
      views.push_back(buffer_.narrow(0, offsets_[i], lengths_[i]).view(shapes_[i]));
    }
  }
  return views;
}

}  // namespace lockstep::hooks
