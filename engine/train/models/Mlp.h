#pragma once

#include <torch/nn/modules/container/modulelist.h>

#include <vector>

#include "engine/train/models/Model.h"

namespace lockstep::train {

/// Linear layers with ReLU between: `sizes` is input, hidden ..., classes. Flattens its input.
/// Parameters: layers.<i>.weight, layers.<i>.bias.
class Mlp : public Model {
 public:
  explicit Mlp(const std::vector<std::int64_t>& sizes);
  at::Tensor forward(at::Tensor input) override;

 private:
  torch::nn::ModuleList layers_;
};

/// `depth` x Linear(width, width) with nothing between: many equal parameters, so that buckets
/// fill at an even pace. Parameters as Mlp's.
class DeepLinear : public Model {
 public:
  DeepLinear(std::int64_t width, std::int64_t depth);
  at::Tensor forward(at::Tensor input) override;

 private:
  torch::nn::ModuleList layers_;
};

}  // namespace lockstep::train
