#pragma once

#include <c10/core/ScalarType.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/train/models/Model.h"

namespace lockstep::train {

/// Linear layers with ReLU between: `sizes` is input, hidden ..., classes. Flattens its input.
/// Parameters: layers.<i>.weight, layers.<i>.bias. Layer i computes in `dtypes[i]`, those beyond
/// the list in its last, all in float32 when it is empty.
class Mlp : public Model {
 public:
  explicit Mlp(const std::vector<std::int64_t>& sizes,
               const std::vector<c10::ScalarType>& dtypes = {});
  at::Tensor forward(at::Tensor input) override;

 private:
  torch::nn::ModuleList layers_{register_module("layers", torch::nn::ModuleList())};
};

/// `depth` x Linear(width, width) with nothing between: many equal parameters, so that buckets
/// fill at an even pace. Parameters as Mlp's.
class DeepLinear : public Model {
 public:
  DeepLinear(std::int64_t width, std::int64_t depth);
  at::Tensor forward(at::Tensor input) override;

 private:
  torch::nn::ModuleList layers_{register_module("layers", torch::nn::ModuleList())};
};

/// A multilayer perceptron with a branch beside it, from the input straight to the logits, that
/// takes part in every other training forward only. In between its parameters have no gradient:
/// DistributedDataParallel needs find_unused_parameters.
class Branching : public Model {
 public:
  /// As Mlp.
  explicit Branching(const std::vector<std::int64_t>& layers);
  at::Tensor forward(at::Tensor input) override;

 private:
  std::shared_ptr<Mlp> trunk_;
  torch::nn::Linear branch_;
  std::uint64_t forwards_ = 0;  // in training mode
};

}  // namespace lockstep::train
