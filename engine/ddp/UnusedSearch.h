#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace lockstep::ddp {

/// Registration index of each parameter's gradient accumulator.
using Accumulators = std::unordered_map<const torch::autograd::Node*, std::uint32_t>;

/// Walks the autograd graph from `outputs` towards the leaves and returns, in ascending order,
/// the parameters it does not reach: no backward from these outputs can give them a gradient.
/// The whole graph is visited once, without recursion. [step-thread]
std::vector<std::uint32_t> unusedParameters(const std::vector<at::Tensor>& outputs,
                                            const Accumulators& accumulators);

}  // namespace lockstep::ddp
