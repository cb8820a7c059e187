#include "engine/ddp/ModelState.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "engine/ddp/DdpError.h"

namespace lockstep::ddp {

namespace {

template <typename Dict>
std::vector<NamedTensor> toList(const Dict& dict) {
  std::vector<NamedTensor> list;
  for (const auto& item : dict) {
    list.push_back({item.key(), item.value()});
  }
  return withoutDuplicates(std::move(list));
}

bool hasSparseGradient(const torch::nn::Module& module) {
  if (const auto* table = dynamic_cast<const torch::nn::EmbeddingImpl*>(&module)) {
    return table->options.sparse();
  }
  if (const auto* bag = dynamic_cast<const torch::nn::EmbeddingBagImpl*>(&module)) {
    return bag->options.sparse();
  }
  return false;
}

/// A weight shared by several modules is sparse only where all its users say so.
std::vector<std::string> sparseNames(torch::nn::Module& module,
                                     const std::vector<NamedTensor>& parameters) {
  std::unordered_set<const c10::TensorImpl*> sparse;
  std::unordered_set<const c10::TensorImpl*> dense;
  for (const auto& part : module.modules()) {
    // By the tensor and not by its name: a shared weight has several.
    auto& users = hasSparseGradient(*part) ? sparse : dense;
    for (const at::Tensor& parameter : part->parameters(/*recurse=*/false)) {
      users.insert(parameter.unsafeGetTensorImpl());
    }
  }
  std::vector<std::string> names;
  for (const NamedTensor& parameter : parameters) {
    const auto* impl = parameter.tensor.unsafeGetTensorImpl();
    if (sparse.count(impl) != 0 && dense.count(impl) == 0) {
      names.push_back(parameter.name);
    }
  }
  return names;
}

std::vector<NamedTensor> without(std::vector<NamedTensor> tensors,
                                 const std::vector<std::string>& names) {
  std::erase_if(tensors, [&](const NamedTensor& tensor) {
    return std::find(names.begin(), names.end(), tensor.name) != names.end();
  });
  return tensors;
}

}  // namespace

std::vector<NamedTensor> withoutDuplicates(std::vector<NamedTensor> tensors) {
  std::unordered_set<const c10::TensorImpl*> seen;
  std::vector<NamedTensor> unique;
  for (NamedTensor& tensor : tensors) {
    if (tensor.tensor.defined() && seen.insert(tensor.tensor.unsafeGetTensorImpl()).second) {
      unique.push_back(std::move(tensor));
    }
  }
  return unique;
}

ModelState withoutNames(ModelState model, const std::vector<std::string>& names) {
  if (names.empty()) {
    return model;
  }
  std::vector<NamedTensor> known = model.parameters;
  if (model.buffers) {
    const auto buffers = model.buffers();
    known.insert(known.end(), buffers.begin(), buffers.end());
  }
  for (const std::string& name : names) {
    if (std::none_of(known.begin(), known.end(),
                     [&](const NamedTensor& tensor) { return tensor.name == name; })) {
      throw DdpError(fmt::format(
          "'{}' is to be ignored, and the model has no parameter or buffer of that name; use the "
          "fully qualified name, as 'layers.0.weight'",
          name));
    }
  }
  model.parameters = without(std::move(model.parameters), names);
  if (model.buffers) {
    // Buffers are read anew each time, and so the names must be taken out each time.
    model.buffers = [all = std::move(model.buffers), names] { return without(all(), names); };
  }
  return model;
}

ModelState ModelState::of(std::shared_ptr<torch::nn::Module> module) {
  ModelState state;
  state.parameters = toList(module->named_parameters());
  state.sparseGradients = sparseNames(*module, state.parameters);
  state.buffers = [module = module.get()] { return toList(module->named_buffers()); };
  state.owner = std::move(module);
  return state;
}

}  // namespace lockstep::ddp
