#include "engine/optim/Sgd.h"

#include <ATen/ATen.h>

namespace lockstep::optim {

Sgd::Sgd(const experiment::OptimizerConfig& config, std::vector<at::Tensor> parameters)
    : ParameterOptimizer(config, std::move(parameters)), momentum_(this->parameters().size()) {}

void Sgd::update(std::size_t index, at::Tensor& parameter, at::Tensor gradient) {
  if (config_.weightDecay != 0) {
    gradient = gradient.add(parameter, config_.weightDecay);
  }
  if (config_.momentum != 0) {
    at::Tensor& momentum = momentum_[index];
    if (momentum.defined()) {
      momentum.mul_(config_.momentum).add_(gradient, 1 - config_.dampening);
    } else {
      momentum = gradient.clone();  // undamped, as torch::optim starts it
    }
    // Nesterov's variant as torch::optim writes it: the gradient again, on top of the momentum.
    gradient = config_.nesterov ? gradient.add(momentum, config_.momentum) : momentum;
  }
  parameter.add_(gradient, -learningRate());
}

ParameterState Sgd::state(std::size_t index) const {
  const at::Tensor& momentum = momentum_.at(index);
  return momentum.defined() ? ParameterState{{"momentum_buffer", momentum}} : ParameterState{};
}

std::vector<std::string> Sgd::parts() const {
  return config_.momentum != 0 ? std::vector<std::string>{"momentum_buffer"}
                               : std::vector<std::string>{};
}

void Sgd::takeState(std::size_t index, ParameterState state) {
  momentum_[index] = state.empty() ? at::Tensor() : state.at("momentum_buffer");
}

}  // namespace lockstep::optim
