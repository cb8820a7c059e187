#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "engine/train/models/Model.h"

namespace lockstep::train {

/// ResNet-18 with the stem for small pictures (3x3, stride 1, no pooling), for inputs
/// [N, channels, H, W]. Names are torchvision's. 11,173,962 parameters for 3 channels and 10
/// classes. (He et al., Deep residual learning for image recognition, 2016, section 4.2 stem)
class ResNet18 : public Model {
 public:
  ResNet18(std::int64_t channels, std::int64_t classes);
  at::Tensor forward(at::Tensor input) override;

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  torch::nn::Sequential layer1_;
  torch::nn::Sequential layer2_;
  torch::nn::Sequential layer3_;
  torch::nn::Sequential layer4_;
  torch::nn::Linear fc_;
};

}  // namespace lockstep::train
