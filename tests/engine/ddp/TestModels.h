#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::ddp::test {

/// Returns numbers that depend on `seed` alone, whatever other threads draw.
inline at::Tensor numbers(std::vector<std::int64_t> shape, std::uint64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return at::rand(shape, generator, at::TensorOptions()).sub_(0.5);
}

/// Fills every parameter from `seed`.
inline void fill(torch::nn::Module& module, std::uint64_t seed) {
  torch::NoGradGuard noGrad;
  for (auto& parameter : module.parameters()) {
    parameter.copy_(numbers(parameter.sizes().vec(), seed++));
  }
}

/// Fully connected layers with tanh between: parameters "fc0.weight", "fc0.bias", "fc1.weight"...
struct Net : torch::nn::Module {
  explicit Net(const std::vector<std::int64_t>& sizes, std::uint64_t seed = 1) {
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      layers.push_back(
          register_module("fc" + std::to_string(i), torch::nn::Linear(sizes[i], sizes[i + 1])));
    }
    fill(*this, seed);
  }
  at::Tensor forward(at::Tensor x) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      x = layers[i]->forward(i == 0 ? x : x.tanh());
    }
    return x;
  }
  std::vector<torch::nn::Linear> layers;
};

/// A layer with batch normalisation: three buffers.
struct NormNet : torch::nn::Module {
  explicit NormNet(std::uint64_t seed = 1)
      : fc(register_module("fc", torch::nn::Linear(4, 3))),
        norm(register_module("norm", torch::nn::BatchNorm1d(3))) {
    fill(*this, seed);
  }
  at::Tensor forward(const at::Tensor& x) { return norm->forward(fc->forward(x)); }
  torch::nn::Linear fc;
  torch::nn::BatchNorm1d norm;
};

/// Two layers that are used apart.
struct TwoHeads : torch::nn::Module {
  explicit TwoHeads(std::uint64_t seed = 1)
      : left(register_module("left", torch::nn::Linear(4, 2))),
        right(register_module("right", torch::nn::Linear(4, 2))) {
    fill(*this, seed);
  }
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& x) {
    return {left->forward(x), right->forward(x)};
  }
  torch::nn::Linear left;
  torch::nn::Linear right;
};

inline std::vector<at::Tensor> gradients(const torch::nn::Module& module) {
  std::vector<at::Tensor> list;
  for (const auto& parameter : module.parameters()) {
    list.push_back(parameter.grad().defined() ? parameter.grad().detach().clone() : at::Tensor());
  }
  return list;
}

inline std::vector<at::Tensor> weights(const torch::nn::Module& module) {
  std::vector<at::Tensor> list;
  for (const auto& parameter : module.parameters()) {
    list.push_back(parameter.detach().clone());
  }
  return list;
}

inline bool equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i], b[i])) {
      return false;
    }
  }
  return true;
}

inline bool close(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!at::allclose(a[i], b[i], 1e-5, 1e-6)) {
      return false;
    }
  }
  return true;
}

}  // namespace lockstep::ddp::test
