#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "engine/train/models/Model.h"

namespace lockstep::train {

/// A network of LeNet-5's size for inputs [N, 1, 28, 28], with ReLU and max pooling:
/// conv1 (6, 5x5, padding 2), conv2 (16, 5x5), fc1 (120), fc2 (84), fc3 (classes).
/// 61,706 parameters for 10 classes. (LeCun et al., Gradient-based learning applied to
/// document recognition, 1998)
class Cnn : public Model {
 public:
  explicit Cnn(std::int64_t classes);
  at::Tensor forward(at::Tensor input) override;

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::Conv2d conv2_;
  torch::nn::Linear fc1_;
  torch::nn::Linear fc2_;
  torch::nn::Linear fc3_;
};

}  // namespace lockstep::train
