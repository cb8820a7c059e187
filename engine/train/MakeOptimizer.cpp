#include "engine/train/MakeOptimizer.h"

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

namespace lockstep::train {
namespace {

using OptimizerPtr = std::unique_ptr<torch::optim::Optimizer>;

template <typename Options>
Options adamOptions(const experiment::OptimizerConfig& config) {
  return Options(config.learningRate)
      .betas({config.beta1, config.beta2})
      .eps(config.epsilon)
      .weight_decay(config.weightDecay);
}

}  // namespace

base::Result<OptimizerPtr> makeOptimizer(const experiment::OptimizerConfig& config,
                                         std::vector<at::Tensor> parameters) {
  try {
    if (config.kind == "sgd") {
      return OptimizerPtr(std::make_unique<torch::optim::SGD>(
          std::move(parameters), torch::optim::SGDOptions(config.learningRate)
                                     .momentum(config.momentum)
                                     .dampening(config.dampening)
                                     .nesterov(config.nesterov)
                                     .weight_decay(config.weightDecay)));
    }
    if (config.kind == "adam") {
      return OptimizerPtr(std::make_unique<torch::optim::Adam>(
          std::move(parameters), adamOptions<torch::optim::AdamOptions>(config)));
    }
    if (config.kind == "adamw") {
      return OptimizerPtr(std::make_unique<torch::optim::AdamW>(
          std::move(parameters), adamOptions<torch::optim::AdamWOptions>(config)));
    }
  } catch (const c10::Error& error) {
    return base::Error{base::ExitCode::kBadInput, error.what_without_backtrace(), "optimizer"};
  }
  return base::Error{base::ExitCode::kBadInput, "unknown: " + config.kind, "optimizer.kind"};
}

}  // namespace lockstep::train
