#include "engine/train/models/Cnn.h"

namespace lockstep::train {

Cnn::Cnn(std::int64_t classes)
    : conv1_(torch::nn::Conv2dOptions(1, 6, 5).padding(2)),
      conv2_(torch::nn::Conv2dOptions(6, 16, 5)),
      fc1_(16 * 5 * 5, 120),
      fc2_(120, 84),
      fc3_(84, classes) {
  register_module("conv1", conv1_);
  register_module("conv2", conv2_);
  register_module("fc1", fc1_);
  register_module("fc2", fc2_);
  register_module("fc3", fc3_);
}

at::Tensor Cnn::forward(at::Tensor input) {
  at::Tensor x = at::max_pool2d(at::relu(conv1_(input)), 2);
  x = at::max_pool2d(at::relu(conv2_(x)), 2);
  x = at::relu(fc1_(x.flatten(1)));
  x = at::relu(fc2_(x));
  return fc3_(x);
}

}  // namespace lockstep::train
