#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/experiment/Experiment.h"

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

inline void clearGradients(const torch::nn::Module& module) {
  for (const auto& parameter : module.parameters()) {
    parameter.mutable_grad() = at::Tensor();
  }
}

/// Options with caps in bytes, small enough for these models to fill several buckets.
inline DdpOptions withCaps(std::uint64_t firstBytes, std::uint64_t capBytes, bool view = false) {
  DdpOptions options;
  options.firstBucketMb = static_cast<double>(firstBytes) / 1048576;
  options.bucketCapMb = static_cast<double>(capBytes) / 1048576;
  options.gradientAsBucketView = view;
  return options;
}

/// Sizes of Net: of a few bytes, and of several buckets under severalBuckets().
inline const std::vector<std::int64_t> kSizes{4, 6, 5, 2};
inline const std::vector<std::int64_t> kWideSizes{8, 16, 16, 4};

inline DdpOptions severalBuckets(bool view = false) {
  return withCaps(200, 600, view);
}

/// What a rank puts into a Net of kWideSizes in a step: three rows.
inline at::Tensor rows(int step, int rank) {
  return numbers({3, 8}, static_cast<std::uint64_t>(100 * step + rank));
}

inline experiment::OptimizerConfig optimizerConfig(const std::string& kind) {
  experiment::OptimizerConfig config;
  config.kind = kind;
  config.learningRate = 0.05;
  config.weightDecay = 0.01;
  return config;
}

/// Runs one synchronised iteration of `net` on a Reducer, the loss being its output's sum.
template <typename M>
void iterate(Reducer& reducer, M& net, const at::Tensor& input) {
  reducer.beginForward();
  const auto output = net.forward(input);
  reducer.prepareForBackward();
  output.sum().backward();
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

/// Returns max |a - b| over all numbers.
inline double largestDifference(const std::vector<at::Tensor>& a,
                                const std::vector<at::Tensor>& b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest =
        a[i].numel() == 0 ? largest : std::max(largest, (a[i] - b[i]).abs().max().item<double>());
  }
  return largest;
}

/// Prints a number that the project is measured by, and puts it into the test's report.
inline void figure(const std::string& name, double value) {
  testing::Test::RecordProperty(name, std::to_string(value));
  std::printf("[  FIGURE  ] %s: %.3g\n", name.c_str(), value);
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
