#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <string>

namespace lockstep::train {

/// Registers `tensor` as the parameter `name` of `root`, such as "layer1.0.weight": modules
/// are made for the parts before the last dot where they are missing.
void registerParameterAt(torch::nn::Module& root, const std::string& name, at::Tensor tensor);

/// The same for a buffer.
void registerBufferAt(torch::nn::Module& root, const std::string& name, at::Tensor tensor);

}  // namespace lockstep::train
