#pragma once

#include "engine/optim/ParameterOptimizer.h"

namespace lockstep::optim {

/// Adam (Kingma and Ba, 2015), and AdamW (Loshchilov and Hutter, 2019), which shrinks the weights
/// apart from the gradient.
class Adam final : public ParameterOptimizer {
 public:
  Adam(const experiment::OptimizerConfig& config, std::vector<at::Tensor> parameters);

  [[nodiscard]] ParameterState state(std::size_t index) const override;
  [[nodiscard]] std::vector<std::string> parts() const override;

 private:
  struct Moments {
    at::Tensor first;  // undefined before the first step
    at::Tensor second;
    std::int64_t step = 0;
  };

  void update(std::size_t index, at::Tensor& parameter, at::Tensor gradient) override;
  void takeState(std::size_t index, ParameterState state) override;

  const bool decoupledDecay_;
  std::vector<Moments> moments_;  // of each parameter
};

}  // namespace lockstep::optim
