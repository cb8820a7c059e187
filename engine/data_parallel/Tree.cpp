#include "engine/data_parallel/Tree.h"

#include <fmt/format.h>

namespace lockstep::data_parallel {

namespace {

[[noreturn]] void refuse(const Tree& tree, const char* wanted) {
  throw DataParallelError(
      fmt::format("the forward asked for {} where {} stands", wanted, tree.describe()));
}

}  // namespace

Tree Tree::value(std::any value) {
  Tree tree;
  tree.node_ = std::move(value);
  return tree;
}

const at::Tensor& Tree::tensor() const {
  const at::Tensor* tensor = ifTensor();
  if (tensor == nullptr) {
    refuse(*this, "a tensor");
  }
  return *tensor;
}

const Tree::List& Tree::list() const {
  const List* list = ifList();
  if (list == nullptr) {
    refuse(*this, "a list");
  }
  return *list;
}

const Tree::Map& Tree::map() const {
  const Map* map = ifMap();
  if (map == nullptr) {
    refuse(*this, "a map");
  }
  return *map;
}

const Tree& Tree::at(std::size_t index) const {
  if (index >= list().size()) {
    throw DataParallelError(fmt::format("the forward asked for item {} of {}", index, describe()));
  }
  return list()[index];
}

const Tree& Tree::at(const std::string& key) const {
  const auto found = map().find(key);
  if (found == map().end()) {
    throw DataParallelError(fmt::format("the forward asked for '{}' of {}", key, describe()));
  }
  return found->second;
}

std::string Tree::describe() const {
  if (isNone()) {
    return "nothing";
  }
  if (ifTensor() != nullptr) {
    return "a tensor";
  }
  if (ifList() != nullptr) {
    return fmt::format("a list of {}", ifList()->size());
  }
  return ifMap() != nullptr ? fmt::format("a map of {}", ifMap()->size()) : "a value";
}

void Tree::visitTensors(
    const std::string& root,
    const std::function<void(const std::string&, const at::Tensor&)>& visit) const {
  if (const at::Tensor* tensor = ifTensor()) {
    visit(root, *tensor);
  } else if (const List* list = ifList()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      (*list)[i].visitTensors(fmt::format("{}[{}]", root, i), visit);
    }
  } else if (const Map* map = ifMap()) {
    for (const auto& [key, item] : *map) {
      item.visitTensors(fmt::format("{}.{}", root, key), visit);
    }
  }
}

// In the order of visitTensors(): scatter() and gather() match the n-th tensor of both.
Tree Tree::mapTensors(const std::function<Tree(const at::Tensor&)>& replace) const {
  if (const at::Tensor* tensor = ifTensor()) {
    return replace(*tensor);
  }
  if (const List* list = ifList()) {
    List mapped;
    mapped.reserve(list->size());
    for (const Tree& item : *list) {
      mapped.push_back(item.mapTensors(replace));
    }
    return {std::move(mapped)};
  }
  if (const Map* map = ifMap()) {
    Map mapped;
    for (const auto& [key, item] : *map) {
      mapped.emplace(key, item.mapTensors(replace));
    }
    return {std::move(mapped)};
  }
  return *this;
}

}  // namespace lockstep::data_parallel
