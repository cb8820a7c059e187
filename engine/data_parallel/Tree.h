#pragma once

#include <ATen/core/Tensor.h>

#include <any>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "engine/data_parallel/DataParallelError.h"

namespace lockstep::data_parallel {

/// Arguments or results of a forward, whatever their nesting: nothing, a tensor, a list, a map
/// by name (keyword arguments), or any other value, which is copied to each replica.
class Tree {
 public:
  using List = std::vector<Tree>;
  using Map = std::map<std::string, Tree>;

  Tree() = default;
  Tree(at::Tensor tensor) : node_(std::move(tensor)) {}
  Tree(List list) : node_(std::move(list)) {}
  Tree(Map map) : node_(std::move(map)) {}
  static Tree value(std::any value);

  [[nodiscard]] bool isNone() const { return std::holds_alternative<std::monostate>(node_); }
  [[nodiscard]] const at::Tensor* ifTensor() const { return std::get_if<at::Tensor>(&node_); }
  [[nodiscard]] const List* ifList() const { return std::get_if<List>(&node_); }
  [[nodiscard]] const Map* ifMap() const { return std::get_if<Map>(&node_); }
  [[nodiscard]] const std::any* ifValue() const { return std::get_if<std::any>(&node_); }

  /// The same for callers that know what stands here. Throw DataParallelError otherwise.
  [[nodiscard]] const at::Tensor& tensor() const;
  [[nodiscard]] const List& list() const;
  [[nodiscard]] const Map& map() const;
  [[nodiscard]] const Tree& at(std::size_t index) const;
  [[nodiscard]] const Tree& at(const std::string& key) const;

  /// Returns "a tensor", "a list of 2", "a map of 3", "nothing", "a value".
  [[nodiscard]] std::string describe() const;

  /// Calls `visit` with each tensor and its path below `root` ("input[1].mask"), depth first,
  /// maps in the order of their keys.
  void visitTensors(const std::string& root,
                    const std::function<void(const std::string&, const at::Tensor&)>& visit) const;

  /// Returns a tree of the same shape whose i-th tensor is what `replace` returns for it.
  [[nodiscard]] Tree mapTensors(const std::function<Tree(const at::Tensor&)>& replace) const;

 private:
  std::variant<std::monostate, at::Tensor, List, Map, std::any> node_;
};

/// Converts between C++ types and trees: tensors, vectors, pairs and tuples (lists), maps by
/// string, optionals, trees as they are; any other type travels as a value.
template <typename T>
struct TreeOf {
  static Tree to(const T& value) { return Tree::value(std::any(value)); }
  static T from(const Tree& tree) {
    const std::any* value = tree.ifValue();
    const T* typed = value == nullptr ? nullptr : std::any_cast<T>(value);
    if (typed == nullptr) {
      throw DataParallelError("an argument or result is " + tree.describe() +
                              " of another type than the forward's");
    }
    return *typed;
  }
};

template <>
struct TreeOf<Tree> {
  static Tree to(Tree tree) { return tree; }
  static Tree from(const Tree& tree) { return tree; }
};

template <>
struct TreeOf<at::Tensor> {
  static Tree to(at::Tensor tensor) { return {std::move(tensor)}; }
  static at::Tensor from(const Tree& tree) { return tree.tensor(); }
};

template <typename T>
struct TreeOf<std::optional<T>> {
  static Tree to(const std::optional<T>& value) { return value ? TreeOf<T>::to(*value) : Tree(); }
  static std::optional<T> from(const Tree& tree) {
    return tree.isNone() ? std::nullopt : std::optional<T>(TreeOf<T>::from(tree));
  }
};

template <typename T>
struct TreeOf<std::vector<T>> {
  static Tree to(const std::vector<T>& values) {
    Tree::List list;
    for (const T& value : values) {
      list.push_back(TreeOf<T>::to(value));
    }
    return {std::move(list)};
  }
  static std::vector<T> from(const Tree& tree) {
    std::vector<T> values;
    for (const Tree& item : tree.list()) {
      values.push_back(TreeOf<T>::from(item));
    }
    return values;
  }
};

template <typename T>
struct TreeOf<std::map<std::string, T>> {
  static Tree to(const std::map<std::string, T>& values) {
    Tree::Map map;
    for (const auto& [key, value] : values) {
      map.emplace(key, TreeOf<T>::to(value));
    }
    return {std::move(map)};
  }
  static std::map<std::string, T> from(const Tree& tree) {
    std::map<std::string, T> values;
    for (const auto& [key, item] : tree.map()) {
      values.emplace(key, TreeOf<T>::from(item));
    }
    return values;
  }
};

template <typename... Ts>
struct TreeOf<std::tuple<Ts...>> {
  static Tree to(const std::tuple<Ts...>& values) {
    return std::apply([](const Ts&... items) { return Tree(Tree::List{TreeOf<Ts>::to(items)...}); },
                      values);
  }
  static std::tuple<Ts...> from(const Tree& tree) {
    return from(tree, std::index_sequence_for<Ts...>{});
  }

 private:
  template <std::size_t... I>
  static std::tuple<Ts...> from(const Tree& tree, std::index_sequence<I...>) {
    return {TreeOf<Ts>::from(tree.at(I))...};
  }
};

template <typename A, typename B>
struct TreeOf<std::pair<A, B>> {
  static Tree to(const std::pair<A, B>& values) {
    return Tree(Tree::List{TreeOf<A>::to(values.first), TreeOf<B>::to(values.second)});
  }
  static std::pair<A, B> from(const Tree& tree) {
    return {TreeOf<A>::from(tree.at(std::size_t{0})), TreeOf<B>::from(tree.at(std::size_t{1}))};
  }
};

}  // namespace lockstep::data_parallel
