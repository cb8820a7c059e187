#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/TensorText.h"
#include "engine/ddp/ZeroRedundancyOptimizer.h"

namespace lockstep::ddp {

// The sharded state brought together, and taken apart again.

// The state of an owner travels as one int64 tensor, for each of its parameters the step, or -1
// where there is no state yet; then the tensors of those that have one, part by part.

void ZeroRedundancyOptimizer::sendTo(int rank) {
  const auto& own = owned_[static_cast<std::size_t>(group_->rank())];
  std::vector<std::int64_t> steps;
  for (std::size_t slot = 0; slot < own.size(); ++slot) {
    const auto state = optimizer_->state(slot);
    const auto step = state.find("step");
    steps.push_back(state.empty()         ? -1
                    : step == state.end() ? 0
                                          : step->second.item<std::int64_t>());
  }
  group_->send(at::tensor(steps, at::kLong).to(joinDevice()), rank, 0, callOptions())->wait();
  for (std::size_t slot = 0; slot < own.size(); ++slot) {
    for (const auto& [name, tensor] : optimizer_->state(slot)) {
      // The step went ahead in the header.
      if (name != "step") {
        group_->send(tensor.contiguous(), rank, 0, callOptions())->wait();
      }
    }
  }
}

std::vector<optim::ParameterState> ZeroRedundancyOptimizer::receiveFrom(int owner) {
  const auto& theirs = owned_[static_cast<std::size_t>(owner)];
  at::Tensor header = at::empty({static_cast<std::int64_t>(theirs.size())},
                                at::TensorOptions(at::kLong).device(joinDevice()));
  group_->recv(header, owner, 0, callOptions())->wait();
  const at::Tensor steps = header.cpu();
  auto parts = optimizer_->parts();
  std::sort(parts.begin(), parts.end());  // as the map of a state iterates
  std::vector<optim::ParameterState> states(theirs.size());
  for (std::size_t slot = 0; slot < theirs.size(); ++slot) {
    const auto step = steps[static_cast<std::int64_t>(slot)].item<std::int64_t>();
    if (step < 0) {
      continue;
    }
    for (const std::string& name : parts) {
      if (name == "step") {
        states[slot][name] = at::scalar_tensor(step, at::kLong);
        continue;
      }
      const at::Tensor& parameter = parameters_[theirs[slot]].tensor;
      at::Tensor part = at::empty(parameter.sizes(), parameter.options().requires_grad(false));
      group_->recv(part, owner, 0, callOptions())->wait();
      states[slot][name] = part;
    }
  }
  return states;
}

std::vector<optim::ParameterState> ZeroRedundancyOptimizer::consolidateStateDict(int to) {
  if (to < 0 || to >= group_->size()) {
    throw std::invalid_argument(
        fmt::format("consolidateStateDict: rank {} of {} ranks", to, group_->size()));
  }
  at::NoGradGuard noGrad;
  if (group_->rank() != to) {
    // One with nothing sends nothing, and `to` knows it: the partition is the same everywhere.
    if (!owned_[static_cast<std::size_t>(group_->rank())].empty()) {
      sendTo(to);
    }
    return {};
  }
  std::vector<optim::ParameterState> all(parameters_.size());
  for (int owner = 0; owner < group_->size(); ++owner) {
    const auto& theirs = owned_[static_cast<std::size_t>(owner)];
    if (theirs.empty()) {
      continue;
    }
    std::vector<optim::ParameterState> states;
    if (owner == to) {
      for (std::size_t slot = 0; slot < theirs.size(); ++slot) {
        auto& copy = states.emplace_back();
        for (const auto& [name, tensor] : optimizer_->state(slot)) {
          // Received tensors are new ones. Its own are copied, as later steps would change them.
          copy[name] = tensor.clone();
        }
      }
    } else {
      states = receiveFrom(owner);
    }
    for (std::size_t slot = 0; slot < theirs.size(); ++slot) {
      all[theirs[slot]] = std::move(states[slot]);
    }
  }
  return all;
}

void ZeroRedundancyOptimizer::loadStateDict(const std::vector<optim::ParameterState>& states) {
  if (states.size() != parameters_.size()) {
    throw DdpError(fmt::format("an optimizer state of {} parameters was loaded; there are {}",
                               states.size(), parameters_.size()));
  }
  const auto& own = owned_[static_cast<std::size_t>(group_->rank())];
  for (std::size_t slot = 0; slot < own.size(); ++slot) {
    const auto status = optimizer_->setState(slot, states[own[slot]]);
    if (!status.ok()) {
      throw DdpError(fmt::format("parameter {}: {}", quoted(parameters_[own[slot]].name, own[slot]),
                                 status.error().what));
    }
  }
}

}  // namespace lockstep::ddp
