#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"

namespace lockstep::optim {

/// What an optimizer keeps for one parameter: "momentum_buffer" of SGD, "exp_avg", "exp_avg_sq" and
/// "step" (an int64 scalar) of Adam and AdamW. Empty before the first step.
using ParameterState = std::map<std::string, at::Tensor>;

/// An optimizer that steps one parameter at a time, so that a communication hook, or the owner of
/// a shard, can step what is ready. Its numbers are torch::optim's to the bit.
///
/// Parameters are known by their index in the list, which is the registration index where that
/// list is the model's. Steps of different parameters are [any-thread]; calls for one parameter
/// take turns. Gradients are passed, never read from Tensor::grad, and left as they are.
class ParameterOptimizer {
 public:
  /// `config.kind` is "sgd", "adam" or "adamw". Error (kBadInput): settings that do not go
  /// together, with torch::optim's rules (nesterov without momentum, a negative rate, ...).
  static base::Result<std::unique_ptr<ParameterOptimizer>> make(
      const experiment::OptimizerConfig& config, std::vector<at::Tensor> parameters);

  virtual ~ParameterOptimizer() = default;
  ParameterOptimizer(const ParameterOptimizer&) = delete;
  ParameterOptimizer& operator=(const ParameterOptimizer&) = delete;

  /// Updates parameter `index` in place with `gradient`, of its shape and dtype.
  void step(std::size_t index, const at::Tensor& gradient);

  /// Updates each parameter of `indices` with the gradient at the same place of `gradients`.
  void stepBucket(const std::vector<std::uint32_t>& indices,
                  const std::vector<at::Tensor>& gradients);

  /// Returns the state of parameter `index`; the tensors are the optimizer's own.
  [[nodiscard]] virtual ParameterState state(std::size_t index) const = 0;

  /// Replaces the state of parameter `index`, copying the tensors; an empty one starts it anew.
  /// Error (kBadInput): parts that this optimizer does not keep, lacks, or of another shape.
  [[nodiscard]] base::Status setState(std::size_t index, const ParameterState& state);

  /// The names of the parts of a state. Without momentum, SGD keeps none.
  [[nodiscard]] virtual std::vector<std::string> parts() const = 0;

  /// Memory of all states, in bytes.
  [[nodiscard]] std::uint64_t stateBytes() const;

  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] double learningRate() const { return learningRate_.load(); }
  void setLearningRate(double rate) { learningRate_.store(rate); }

 protected:
  ParameterOptimizer(const experiment::OptimizerConfig& config, std::vector<at::Tensor> parameters);

  const experiment::OptimizerConfig config_;

 private:
  /// `parameter` and `gradient` are dense and fit each other; gradient mode is off.
  virtual void update(std::size_t index, at::Tensor& parameter, at::Tensor gradient) = 0;
  virtual void takeState(std::size_t index, ParameterState state) = 0;

  std::vector<at::Tensor> parameters_;
  std::atomic<double> learningRate_;
};

}  // namespace lockstep::optim
