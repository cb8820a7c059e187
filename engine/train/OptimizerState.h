#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace torch::optim {
class Optimizer;
}
namespace lockstep::optim {
class ParameterOptimizer;
}

namespace lockstep::train {

/// What an optimizer keeps for one parameter: tensors of its shape, and "step", an int64 scalar.
using ParameterState = std::map<std::string, at::Tensor>;

/// Returns "sgd", "adam" or "adamw".
std::string optimizerKind(const torch::optim::Optimizer& optimizer);

/// Returns the state of `parameter`; empty before its first step. The tensors are the
/// optimizer's own.
ParameterState parameterState(const torch::optim::Optimizer& optimizer,
                              const at::Tensor& parameter);

/// Replaces the state of `parameter`; takes the tensors over. The parts are those that
/// parameterState gives for an optimizer of this kind.
void setParameterState(torch::optim::Optimizer& optimizer, const at::Tensor& parameter,
                       ParameterState state);

/// Copies the state of every parameter that `from` steps into `to`, an optimizer of the same kind
/// that has these parameters, and back. Error (kBadInput): a state that does not fit.
void copyState(const optim::ParameterOptimizer& from, torch::optim::Optimizer& to);
base::Status copyState(const torch::optim::Optimizer& from, optim::ParameterOptimizer& to);

/// Returns the parts that an optimizer of this kind keeps, all of them or none.
const std::vector<std::string>& partsOf(const std::string& kind);

}  // namespace lockstep::train
