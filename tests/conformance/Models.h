#pragma once

#include <torch/nn/modules/container/sequential.h>

#include <string>
#include <vector>

namespace lockstep::conformance {

/// The models that models.py builds in Python: "mlp", else a small convolutional network.
torch::nn::Sequential buildModel(const std::string& kind);

/// All numbers of all tensors, one after the other.
std::vector<double> numbers(const std::vector<at::Tensor>& tensors);

}  // namespace lockstep::conformance
