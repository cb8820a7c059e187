#include "engine/train/models/DottedNames.h"

#include <memory>

namespace lockstep::train {
namespace {

/// Returns the module that holds `name`, and what follows its last dot.
std::pair<torch::nn::Module*, std::string> holderOf(torch::nn::Module& root,
                                                    const std::string& name) {
  torch::nn::Module* module = &root;
  std::size_t begin = 0;
  for (std::size_t dot; (dot = name.find('.', begin)) != std::string::npos; begin = dot + 1) {
    const std::string part = name.substr(begin, dot - begin);
    auto children = module->named_children();
    if (auto* child = children.find(part)) {
      module = child->get();
    } else {
      // A module without a forward, only to hold names: named_parameters() gives "a.b.c" again.
      module = module->register_module(part, std::make_shared<torch::nn::Module>(part)).get();
    }
  }
  return {module, name.substr(begin)};
}

}  // namespace

void registerParameterAt(torch::nn::Module& root, const std::string& name, at::Tensor tensor) {
  const auto [module, last] = holderOf(root, name);
  const bool trained = tensor.requires_grad();
  module->register_parameter(last, std::move(tensor), trained);
}

void registerBufferAt(torch::nn::Module& root, const std::string& name, at::Tensor tensor) {
  const auto [module, last] = holderOf(root, name);
  module->register_buffer(last, std::move(tensor));
}

}  // namespace lockstep::train
