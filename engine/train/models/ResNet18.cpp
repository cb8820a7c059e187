#include "engine/train/models/ResNet18.h"

namespace lockstep::train {
namespace {

torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                              std::int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// Two 3x3 convolutions and the way round them.
class BasicBlock : public torch::nn::Module {
 public:
  BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1_(convolution(in, out, 3, stride)),
        bn1_(out),
        conv2_(convolution(out, out, 3, 1)),
        bn2_(out) {
    register_module("conv1", conv1_);
    register_module("bn1", bn1_);
    register_module("conv2", conv2_);
    register_module("bn2", bn2_);
    if (stride != 1 || in != out) {
      downsample_ =
          torch::nn::Sequential(convolution(in, out, 1, stride), torch::nn::BatchNorm2d(out));
      register_module("downsample", downsample_);
    }
  }

  at::Tensor forward(const at::Tensor& input) {
    at::Tensor x = at::relu(bn1_(conv1_(input)));
    x = bn2_(conv2_(x));
    return at::relu(x + (downsample_.is_empty() ? input : downsample_->forward(input)));
  }

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  torch::nn::Conv2d conv2_;
  torch::nn::BatchNorm2d bn2_;
  torch::nn::Sequential downsample_{nullptr};
};

torch::nn::Sequential stage(std::int64_t in, std::int64_t out, std::int64_t stride) {
  torch::nn::Sequential blocks;
  blocks->push_back(std::make_shared<BasicBlock>(in, out, stride));
  blocks->push_back(std::make_shared<BasicBlock>(out, out, 1));
  return blocks;
}

}  // namespace

ResNet18::ResNet18(std::int64_t channels, std::int64_t classes)
    // For pictures of 32 x 32: a 3x3 convolution without the stride and the pooling that the
    // original has for 224 x 224 (He et al., 2016).
    : conv1_(convolution(channels, 64, 3, 1)),
      bn1_(64),
      layer1_(stage(64, 64, 1)),
      layer2_(stage(64, 128, 2)),
      layer3_(stage(128, 256, 2)),
      layer4_(stage(256, 512, 2)),
      fc_(512, classes) {
  register_module("conv1", conv1_);
  register_module("bn1", bn1_);
  register_module("layer1", layer1_);
  register_module("layer2", layer2_);
  register_module("layer3", layer3_);
  register_module("layer4", layer4_);
  register_module("fc", fc_);
}

at::Tensor ResNet18::forward(at::Tensor input) {
  at::Tensor x = at::relu(bn1_(conv1_(input)));
  x = layer4_->forward(layer3_->forward(layer2_->forward(layer1_->forward(x))));
  return fc_(x.mean({2, 3}));
}

}  // namespace lockstep::train
