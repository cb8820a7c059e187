#include "engine/train/models/Model.h"

#include <torch/nn/functional/loss.h>

namespace lockstep::train {

at::Tensor Model::loss(const at::Tensor& output, const at::Tensor& target) const {
  return torch::nn::functional::cross_entropy(output.flatten(0, -2), target.flatten());
}

}  // namespace lockstep::train
