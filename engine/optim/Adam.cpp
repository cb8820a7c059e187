#include "engine/optim/Adam.h"

#include <ATen/ATen.h>

#include <cmath>

namespace lockstep::optim {

Adam::Adam(const experiment::OptimizerConfig& config, std::vector<at::Tensor> parameters)
    : ParameterOptimizer(config, std::move(parameters)),
      decoupledDecay_(config.kind == "adamw"),
      moments_(this->parameters().size()) {}

void Adam::update(std::size_t index, at::Tensor& parameter, at::Tensor gradient) {
  // With t steps, m = β1 m + (1 - β1) g and v = β2 v + (1 - β2) g², the parameter moves by
  //
  //   - rate / (1 - β1^t) * m / (sqrt(v) / sqrt(1 - β2^t) + ε)
  //
  // computed in the order of torch::optim, so that the bits are the same. Weight decay is part of g
  // in Adam; AdamW shrinks the parameter first, by the rate and apart from g.
  const double rate = learningRate();
  if (config_.weightDecay != 0) {
    if (decoupledDecay_) {
      parameter.mul_(1 - rate * config_.weightDecay);
    } else {
      gradient = gradient.add(parameter, config_.weightDecay);
    }
  }
  Moments& moments = moments_[index];
  if (!moments.first.defined()) {
    // Laid out as the parameter, so that the loops below run over memory in one order.
    moments.first = at::zeros_like(parameter, at::MemoryFormat::Preserve);
    moments.second = at::zeros_like(parameter, at::MemoryFormat::Preserve);
  }
  ++moments.step;
  const auto steps = static_cast<double>(moments.step);
  moments.first.mul_(config_.beta1).add_(gradient, 1 - config_.beta1);
  moments.second.mul_(config_.beta2).addcmul_(gradient, gradient, 1 - config_.beta2);
  const double firstShare = 1 - std::pow(config_.beta1, steps);
  const double secondShare = 1 - std::pow(config_.beta2, steps);
  const at::Tensor scale = moments.second.sqrt().div_(std::sqrt(secondShare)).add_(config_.epsilon);
  parameter.addcdiv_(moments.first, scale, -(rate / firstShare));
}

ParameterState Adam::state(std::size_t index) const {
  const Moments& moments = moments_.at(index);
  if (!moments.first.defined()) {
    return {};
  }
  return {{"exp_avg", moments.first},
          {"exp_avg_sq", moments.second},
          {"step", at::scalar_tensor(moments.step, at::kLong)}};
}

std::vector<std::string> Adam::parts() const {
  return {"exp_avg", "exp_avg_sq", "step"};
}

void Adam::takeState(std::size_t index, ParameterState state) {
  moments_[index] = state.empty() ? Moments{}
                                  : Moments{state.at("exp_avg"), state.at("exp_avg_sq"),
                                            state.at("step").item<std::int64_t>()};
}

}  // namespace lockstep::optim
