#include "engine/train/models/Model.h"

#include <torch/nn/functional/loss.h>

namespace lockstep::train {

at::Tensor Model::loss(const at::Tensor& output, const at::Tensor& target) const {
  const bool narrow = output.scalar_type() == c10::kBFloat16 || output.scalar_type() == c10::kHalf;
  // For characters [N, T, V] becomes [N * T, V]. In 16 bits the sum over classes would be too
  // coarse.
  return torch::nn::functional::cross_entropy(
      (narrow ? output.to(c10::kFloat) : output).flatten(0, -2), target.flatten());
}

}  // namespace lockstep::train
