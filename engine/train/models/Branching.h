#pragma once

#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/train/models/Mlp.h"
#include "engine/train/models/Model.h"

namespace lockstep::train {

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
