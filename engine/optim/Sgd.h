#pragma once

#include "engine/optim/ParameterOptimizer.h"

namespace lockstep::optim {

/// Stochastic gradient descent with momentum, dampening, Nesterov's variant and L2 weight decay.
class Sgd final : public ParameterOptimizer {
 public:
  Sgd(const experiment::OptimizerConfig& config, std::vector<at::Tensor> parameters);

  [[nodiscard]] ParameterState state(std::size_t index) const override;
  [[nodiscard]] std::vector<std::string> parts() const override;

 private:
  void update(std::size_t index, at::Tensor& parameter, at::Tensor gradient) override;
  void takeState(std::size_t index, ParameterState state) override;

  std::vector<at::Tensor> momentum_;  // of each parameter; undefined before its first step
};

}  // namespace lockstep::optim
