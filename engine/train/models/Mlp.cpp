#include "engine/train/models/Mlp.h"

#include <algorithm>

namespace lockstep::train {

Mlp::Mlp(const std::vector<std::int64_t>& sizes, const std::vector<c10::ScalarType>& dtypes) {
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    torch::nn::Linear layer(sizes[i], sizes[i + 1]);
    if (!dtypes.empty()) {
      layer->to(dtypes[std::min(i, dtypes.size() - 1)]);
    }
    layers_->push_back(layer);
  }
}

at::Tensor Mlp::forward(at::Tensor input) {
  at::Tensor x = input.flatten(1);
  for (std::size_t i = 0; i < layers_->size(); ++i) {
    auto& layer = layers_->at<torch::nn::LinearImpl>(i);
    x = layer.forward(x.to(layer.weight.scalar_type()));
    if (i + 1 < layers_->size()) {
      x = at::relu(x);
    }
  }
  return x;
}

DeepLinear::DeepLinear(std::int64_t width, std::int64_t depth) {
  for (std::int64_t i = 0; i < depth; ++i) {
    layers_->push_back(torch::nn::Linear(width, width));
  }
}

at::Tensor DeepLinear::forward(at::Tensor input) {
  at::Tensor x = input.flatten(1);
  for (std::size_t i = 0; i < layers_->size(); ++i) {
    x = layers_->at<torch::nn::LinearImpl>(i).forward(x);
  }
  return x;
}

Branching::Branching(const std::vector<std::int64_t>& layers)
    : trunk_(register_module("trunk", std::make_shared<Mlp>(layers))),
      branch_(register_module("branch", torch::nn::Linear(layers.front(), layers.back()))) {}

at::Tensor Branching::forward(at::Tensor input) {
  const at::Tensor output = trunk_->forward(input);
  const bool takesPart = !is_training() || forwards_++ % 2 == 0;
  return takesPart ? output + branch_(input.flatten(1)) : output;
}

}  // namespace lockstep::train
