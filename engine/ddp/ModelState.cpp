#include "engine/ddp/ModelState.h"

#include <torch/nn/module.h>

#include <unordered_set>
#include <utility>

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

ModelState ModelState::of(std::shared_ptr<torch::nn::Module> module) {
  ModelState state;
  state.parameters = toList(module->named_parameters());
  state.buffers = [module = module.get()] { return toList(module->named_buffers()); };
  state.owner = std::move(module);
  return state;
}

}  // namespace lockstep::ddp
