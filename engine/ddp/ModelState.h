#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
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

  /// Names of parameters whose gradients will be sparse: of() finds embeddings built so.
  std::vector<std::string> sparseGradients;

  /// Keeps the model alive.
  std::shared_ptr<void> owner;

  static ModelState of(std::shared_ptr<torch::nn::Module> module);
};

/// Takes the parameters and buffers of these names out of `model`: DistributedDataParallel then
/// neither compares, copies nor reduces them. Throws DdpError for a name that the model has not.
ModelState withoutNames(ModelState model, const std::vector<std::string>& names);

/// Drops tensors that stand earlier in the list under another name, and undefined ones.
std::vector<NamedTensor> withoutDuplicates(std::vector<NamedTensor> tensors);

}  // namespace lockstep::ddp
