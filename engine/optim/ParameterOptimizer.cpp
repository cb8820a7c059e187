#include "engine/optim/ParameterOptimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "engine/base/Check.h"
#include "engine/optim/Adam.h"
#include "engine/optim/Sgd.h"

namespace lockstep::optim {

namespace {

struct Fault {
  std::string key;
  std::string text;
};

// torch::optim's rules, found here before a run begins and not at its first step.
std::optional<Fault> faultIn(const experiment::OptimizerConfig& config) {
  const auto negative = [](double value) { return !(value >= 0); };  // NaN, too
  if (negative(config.learningRate)) {
    return Fault{"learning_rate", fmt::format("is {}; it must be 0 or more", config.learningRate)};
  }
  if (negative(config.weightDecay)) {
    return Fault{"weight_decay", fmt::format("is {}; it must be 0 or more", config.weightDecay)};
  }
  if (config.kind == "sgd") {
    if (negative(config.momentum)) {
      return Fault{"momentum", fmt::format("is {}; it must be 0 or more", config.momentum)};
    }
    if (config.nesterov && (config.momentum == 0 || config.dampening != 0)) {
      return Fault{"nesterov", "needs a momentum above 0 and a dampening of 0"};
    }
    return std::nullopt;
  }
  if (config.kind != "adam" && config.kind != "adamw") {
    return Fault{"kind", fmt::format("is '{}'; there are sgd, adam and adamw", config.kind)};
  }
  for (const auto& [key, beta] : {std::pair{"beta1", config.beta1}, {"beta2", config.beta2}}) {
    if (negative(beta) || beta >= 1) {
      return Fault{key, fmt::format("is {}; it must be in [0, 1)", beta)};
    }
  }
  if (negative(config.epsilon)) {
    return Fault{"epsilon", fmt::format("is {}; it must be 0 or more", config.epsilon)};
  }
  return std::nullopt;
}

base::Error misfit(std::size_t index, std::string text) {
  return {base::ExitCode::kBadInput, std::move(text),
          fmt::format("optimizer state of parameter {}", index)};
}

}  // namespace

ParameterOptimizer::ParameterOptimizer(const experiment::OptimizerConfig& config,
                                       std::vector<at::Tensor> parameters)
    : config_(config), parameters_(std::move(parameters)), learningRate_(config.learningRate) {}

base::Result<std::unique_ptr<ParameterOptimizer>> ParameterOptimizer::make(
    const experiment::OptimizerConfig& config, std::vector<at::Tensor> parameters) {
  if (const auto fault = faultIn(config)) {
    return base::Error{base::ExitCode::kBadInput, fault->text, "optimizer." + fault->key};
  }
  if (config.kind == "sgd") {
    return std::unique_ptr<ParameterOptimizer>(
        std::make_unique<Sgd>(config, std::move(parameters)));
  }
  return std::unique_ptr<ParameterOptimizer>(std::make_unique<Adam>(config, std::move(parameters)));
}

void ParameterOptimizer::step(std::size_t index, const at::Tensor& gradient) {
  LOCKSTEP_CHECK(index < parameters_.size(), "a step of parameter {} of {}", index,
                 parameters_.size());
  at::Tensor& parameter = parameters_[index];
  LOCKSTEP_CHECK(gradient.defined() && gradient.sizes() == parameter.sizes() &&
                     gradient.scalar_type() == parameter.scalar_type(),
                 "the gradient of parameter {} does not fit it", index);
  at::NoGradGuard noGrad;
  update(index, parameter, gradient);
}

void ParameterOptimizer::stepBucket(const std::vector<std::uint32_t>& indices,
                                    const std::vector<at::Tensor>& gradients) {
  LOCKSTEP_CHECK(indices.size() == gradients.size(), "{} gradients for {} parameters",
                 gradients.size(), indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    step(indices[i], gradients[i]);
  }
}

base::Status ParameterOptimizer::setState(std::size_t index, const ParameterState& state) {
  if (index >= parameters_.size()) {
    return misfit(index, fmt::format("there are {} parameters", parameters_.size()));
  }
  // All parts are checked and copied before one is taken: a state that does not fit changes
  // nothing.
  ParameterState own;
  if (!state.empty()) {
    const auto names = parts();
    for (const std::string& name : names) {
      const auto part = state.find(name);
      if (part == state.end() || !part->second.defined()) {
        return misfit(index, fmt::format("lacks '{}'; {} keeps {}", name, config_.kind,
                                         fmt::join(names, ", ")));
      }
      const bool isStep = name == "step";
      const at::Tensor& value = part->second;
      if (isStep ? value.numel() != 1 : value.sizes() != parameters_[index].sizes()) {
        return misfit(
            index, fmt::format("'{}' has shape [{}]; {} [{}]", name, fmt::join(value.sizes(), ", "),
                               isStep ? "it is one number," : "the parameter has",
                               fmt::join(parameters_[index].sizes(), ", ")));
      }
      at::NoGradGuard noGrad;
      // Laid out as the parameter, so that a restored run computes as one that went on.
      own[name] = isStep
                      ? value.to(at::kCPU, at::kLong).clone()
                      : at::empty_like(parameters_[index], at::MemoryFormat::Preserve).copy_(value);
    }
    // Every part that is kept was found, so that a surplus is of another kind of optimizer.
    if (own.size() != state.size()) {
      return misfit(index, fmt::format("has {} parts; {} keeps {}: {}", state.size(), config_.kind,
                                       names.size(), fmt::join(names, ", ")));
    }
  }
  takeState(index, std::move(own));
  return {};
}

std::uint64_t ParameterOptimizer::stateBytes() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    for (const auto& [name, tensor] : state(i)) {
      bytes += tensor.nbytes();
    }
  }
  return bytes;
}

}  // namespace lockstep::optim
