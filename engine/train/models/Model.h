#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace lockstep::train {

/// A model as the step loop sees it: input in, output and loss out. [step-thread]
class Model : public torch::nn::Module {
 public:
  /// Takes a batch [N, ...] of DataShape::sample; returns what `loss` is taken of: logits
  /// [N, classes], or [N, T, vocabulary] for characters.
  virtual at::Tensor forward(at::Tensor input) = 0;

  /// Returns the mean cross entropy over all targets (int64, [N] or [N, T]), a scalar; of 16-bit
  /// logits it is taken in float32.
  [[nodiscard]] virtual at::Tensor loss(const at::Tensor& output, const at::Tensor& target) const;

  /// Whether the output are logits, so that accuracy has a meaning.
  [[nodiscard]] virtual bool hasClasses() const { return true; }
};

}  // namespace lockstep::train
