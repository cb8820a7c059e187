#include "engine/train/models/PictureModels.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <array>

namespace lockstep::train {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;
using torch::nn::Linear;
using torch::nn::Sequential;

class Cnn : public Model {
 public:
  explicit Cnn(std::int64_t classes) : fc3_(register_module("fc3", Linear(84, classes))) {}

  at::Tensor forward(at::Tensor input) override {
    at::Tensor x = at::max_pool2d(at::relu(conv1_(input)), 2);
    x = at::max_pool2d(at::relu(conv2_(x)), 2);
    x = at::relu(fc1_(x.flatten(1)));
    x = at::relu(fc2_(x));
    return fc3_(x);
  }

 private:
  Conv2d conv1_{register_module("conv1", Conv2d(Conv2dOptions(1, 6, 5).padding(2)))};
  Conv2d conv2_{register_module("conv2", Conv2d(Conv2dOptions(6, 16, 5)))};
  Linear fc1_{register_module("fc1", Linear(16 * 5 * 5, 120))};
  Linear fc2_{register_module("fc2", Linear(120, 84))};
  Linear fc3_;
};

Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return Conv2d(Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// Two 3x3 convolutions and the way round them.
class BasicBlock : public torch::nn::Module {
 public:
  BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1_(register_module("conv1", convolution(in, out, 3, stride))),
        bn1_(register_module("bn1", BatchNorm2d(out))),
        conv2_(register_module("conv2", convolution(out, out, 3, 1))),
        bn2_(register_module("bn2", BatchNorm2d(out))) {
    if (stride != 1 || in != out) {
      downsample_ = register_module("downsample",
                                    Sequential(convolution(in, out, 1, stride), BatchNorm2d(out)));
    }
  }

  at::Tensor forward(const at::Tensor& input) {
    at::Tensor x = at::relu(bn1_(conv1_(input)));
    x = bn2_(conv2_(x));
    return at::relu(x + (downsample_.is_empty() ? input : downsample_->forward(input)));
  }

 private:
  Conv2d conv1_;
  BatchNorm2d bn1_;
  Conv2d conv2_;
  BatchNorm2d bn2_;
  Sequential downsample_{nullptr};
};

Sequential stage(std::int64_t in, std::int64_t out, std::int64_t stride) {
  Sequential blocks;
  blocks->push_back(std::make_shared<BasicBlock>(in, out, stride));
  blocks->push_back(std::make_shared<BasicBlock>(out, out, 1));
  return blocks;
}

class ResNet18 : public Model {
 public:
  ResNet18(std::int64_t channels, std::int64_t classes)
      : conv1_(register_module("conv1", convolution(channels, 64, 3, 1))),
        bn1_(register_module("bn1", BatchNorm2d(64))),
        layers_{register_module("layer1", stage(64, 64, 1)),
                register_module("layer2", stage(64, 128, 2)),
                register_module("layer3", stage(128, 256, 2)),
                register_module("layer4", stage(256, 512, 2))},
        fc_(register_module("fc", Linear(512, classes))) {}

  at::Tensor forward(at::Tensor input) override {
    at::Tensor x = at::relu(bn1_(conv1_(input)));
    for (Sequential& layer : layers_) {
      x = layer->forward(x);
    }
    return fc_(x.mean({2, 3}));
  }

 private:
  Conv2d conv1_;
  BatchNorm2d bn1_;
  std::array<Sequential, 4> layers_;
  Linear fc_;
};

}  // namespace

std::shared_ptr<Model> makeCnn(std::int64_t classes) {
  return std::make_shared<Cnn>(classes);
}

std::shared_ptr<Model> makeResNet18(std::int64_t channels, std::int64_t classes) {
  return std::make_shared<ResNet18>(channels, classes);
}

}  // namespace lockstep::train
