#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace lockstep::ddp {

struct NamedTensor {
  std::string name;  ///< fully qualified: "layers.0.weight"
  at::Tensor tensor;
};

/// What data-parallel training needs to know of a model, whatever it is made of.
struct ModelState {
  /// Every parameter once, frozen ones among them, in registration order. A parameter shared
  /// under several names keeps its first.
  std::vector<NamedTensor> parameters;

  /// Reads the buffers anew: a module may replace the tensor behind a name.
  std::function<std::vector<NamedTensor>()> buffers;

  /// Keeps the model alive.
  std::shared_ptr<void> owner;

  static ModelState of(std::shared_ptr<torch::nn::Module> module);
};

/// Drops tensors that stand earlier in the list under another name, and undefined ones.
std::vector<NamedTensor> withoutDuplicates(std::vector<NamedTensor> tensors);

}  // namespace lockstep::ddp
