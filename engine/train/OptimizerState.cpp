#include "engine/train/OptimizerState.h"

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "engine/base/Check.h"
#include "engine/base/Try.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/optim/ParameterOptimizer.h"

namespace lockstep::train {
namespace {

using torch::optim::Optimizer;

template <typename State>
ParameterState adamParts(const torch::optim::OptimizerParamState& from) {
  const auto& state = static_cast<const State&>(from);
  return {{"exp_avg", state.exp_avg()},
          {"exp_avg_sq", state.exp_avg_sq()},
          {"step", at::scalar_tensor(state.step(), at::kLong)}};
}

template <typename State>
std::unique_ptr<torch::optim::OptimizerParamState> adamState(ParameterState& parts) {
  auto state = std::make_unique<State>();
  state->exp_avg(parts.at("exp_avg"));
  state->exp_avg_sq(parts.at("exp_avg_sq"));
  state->step(parts.at("step").item<std::int64_t>());
  return state;
}

}  // namespace

std::string optimizerKind(const Optimizer& optimizer) {
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer)) return "sgd";
  if (dynamic_cast<const torch::optim::AdamW*>(&optimizer)) return "adamw";
  LOCKSTEP_CHECK(dynamic_cast<const torch::optim::Adam*>(&optimizer) != nullptr,
                 "an optimizer of a kind this file does not know");
  return "adam";
}

const std::vector<std::string>& partsOf(const std::string& kind) {
  static const std::vector<std::string> sgd{"momentum_buffer"};
  static const std::vector<std::string> adam{"exp_avg", "exp_avg_sq", "step"};
  return kind == "sgd" ? sgd : adam;
}

ParameterState parameterState(const Optimizer& optimizer, const at::Tensor& parameter) {
  const auto& states = optimizer.state();
  // libtorch 1.13 and 2.x have keys of unlike types for a parameter's state.
  const auto found = states.find(ddp::compat::stateKey<Optimizer>(parameter));
  if (found == states.end()) {
    return {};
  }
  const std::string kind = optimizerKind(optimizer);
  if (kind == "adam") return adamParts<torch::optim::AdamParamState>(*found->second);
  if (kind == "adamw") return adamParts<torch::optim::AdamWParamState>(*found->second);
  const auto& state = static_cast<const torch::optim::SGDParamState&>(*found->second);
  return {{"momentum_buffer", state.momentum_buffer()}};
}

void copyState(const optim::ParameterOptimizer& from, Optimizer& to) {
  for (std::size_t i = 0; i < from.parameters().size(); ++i) {
    ParameterState state = from.state(i);
    for (auto& [part, tensor] : state) {
      // The optimizer that steps in the backward goes on to change its own.
      tensor = tensor.clone();
    }
    if (!state.empty()) {
      setParameterState(to, from.parameters()[i], std::move(state));
    }
  }
}

base::Status copyState(const Optimizer& from, optim::ParameterOptimizer& to) {
  for (std::size_t i = 0; i < to.parameters().size(); ++i) {
    ParameterState state = parameterState(from, to.parameters()[i]);
    // SGD without momentum leaves an undefined buffer.
    std::erase_if(state, [](const auto& part) { return !part.second.defined(); });
    LOCKSTEP_TRY(to.setState(i, state));
  }
  return {};
}

void setParameterState(Optimizer& optimizer, const at::Tensor& parameter, ParameterState state) {
  auto& slot = optimizer.state()[ddp::compat::stateKey<Optimizer>(parameter)];
  const std::string kind = optimizerKind(optimizer);
  if (kind == "adam") {
    slot = adamState<torch::optim::AdamParamState>(state);
  } else if (kind == "adamw") {
    slot = adamState<torch::optim::AdamWParamState>(state);
  } else {
    auto own = std::make_unique<torch::optim::SGDParamState>();
    own->momentum_buffer(state.at("momentum_buffer"));
    slot = std::move(own);
  }
}

}  // namespace lockstep::train
