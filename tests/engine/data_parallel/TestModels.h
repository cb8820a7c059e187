#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::data_parallel::test {

/// Returns numbers that depend on `seed` alone.
inline at::Tensor numbers(std::vector<std::int64_t> shape, std::uint64_t seed) {
  return at::rand(shape, at::make_generator<at::CPUGeneratorImpl>(seed), at::TensorOptions())
      .sub_(0.5);
}

/// Makes the module with every parameter filled from `seed`.
template <typename M>
std::shared_ptr<M> make(std::uint64_t seed = 1) {
  auto module = std::make_shared<M>();
  torch::NoGradGuard noGrad;
  for (auto& parameter : module->parameters()) {
    parameter.copy_(numbers(parameter.sizes().vec(), seed++));
  }
  return module;
}

/// Two layers, a parameter in double and a frozen one.
struct Net : torch::nn::Module {
  Net() { frozen.set_requires_grad(false); }
  at::Tensor forward(const at::Tensor& x) {
    return (second(first(x).tanh()) * wide.to(at::kFloat) + frozen).sigmoid();
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(6, 8));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(8, 3));
  at::Tensor wide = register_parameter("wide", at::ones({3}, at::kDouble));
  at::Tensor frozen = register_parameter("frozen", at::ones({3}));
};

/// Takes keyword-like arguments and a list, returns a map with a list in it.
struct Nested : torch::nn::Module {
  using Inputs = std::map<std::string, at::Tensor>;
  std::map<std::string, std::vector<at::Tensor>> forward(const std::vector<at::Tensor>& lists,
                                                         const Inputs& named, double scale,
                                                         const std::optional<at::Tensor>& more) {
    const at::Tensor sum = left(lists.at(0)) + right(lists.at(1)) * scale;
    const at::Tensor masked = sum * named.at("mask");
    return {{"both", {sum, masked}}, {"one", {more ? masked + *more : masked.exp()}}};
  }
  torch::nn::Linear left = register_module("left", torch::nn::Linear(4, 5));
  torch::nn::Linear right = register_module("right", torch::nn::Linear(3, 5));
};

struct NormNet : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return norm(fc(x)); }
  torch::nn::Linear fc = register_module("fc", torch::nn::Linear(4, 3));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(3));
};

/// One layer that the forward does not use, and one weight under two names.
struct Tied : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return at::matmul(at::matmul(x, weight), again); }
  at::Tensor weight = register_parameter("weight", at::ones({4, 4}));
  at::Tensor again = register_parameter("again", weight);
  torch::nn::Linear unused = register_module("unused", torch::nn::Linear(2, 2));
};

template <typename M>
std::map<std::string, at::Tensor> gradients(const M& module) {
  std::map<std::string, at::Tensor> list;
  for (const auto& item : module.named_parameters()) {
    list[item.key()] = item.value().grad();
  }
  return list;
}

/// Returns the largest difference between two modules' gradients; an undefined one counts as
/// zeros.
template <typename M>
double difference(const M& a, const M& b) {
  double largest = 0;
  const auto others = gradients(b);
  for (const auto& [name, mine] : gradients(a)) {
    const at::Tensor& other = others.at(name);
    if (mine.defined() || other.defined()) {
      const at::Tensor gap = !mine.defined() ? other : other.defined() ? mine - other : mine;
      largest = std::max(largest, gap.abs().max().template item<double>());
    }
  }
  return largest;
}

}  // namespace lockstep::data_parallel::test
