#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::imports {

/// What the opcodes of a pickle work on: a stack with marks, and values that were remembered. What
/// makes no sense is refused: from then on nothing is done. Values may hold each other, in a circle
/// or a million deep, and are bounded in number where they become JSON.
class PickleStack {
 public:
  PickleStack() = default;
  ~PickleStack();
  PickleStack(const PickleStack&) = delete;
  PickleStack& operator=(const PickleStack&) = delete;

  void push(nlohmann::json value);
  void pushList();
  void pushDict();
  void drop();
  void dropToMark();
  void duplicate();
  void mark() { marks_.push_back(stack_.size()); }
  /// Makes a tuple of the last ones.
  void tuple(int size);
  void tupleToMark();
  /// Adds the last one, or all above the mark, to the list below.
  void append();
  void appendToMark();
  /// Adds the last two, or all above the mark, to the dict below.
  void setItem();
  void setItems();
  void remember(std::uint64_t index);
  void rememberNext() { remember(memo_.size()); }
  void recall(std::uint64_t index);

  /// The one value that is left.
  nlohmann::json build();

  void refuse(const std::string& why);
  /// What was refused first; empty: nothing.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  struct Value;
  using Shared = std::shared_ptr<Value>;
  using List = std::vector<Shared>;                     // tuples too
  using Dict = std::vector<std::pair<Shared, Shared>>;  // in the order of the file
  struct Value {
    std::variant<nlohmann::json, List, Dict> is;
  };

  void push(Value value);
  Shared pop();
  List popToMark();
  template <typename Kind>
  Kind* top(const char* wanted);
  void append(const List& values);
  void setItems(const List& values);
  std::string keyOf(const Value& key);
  nlohmann::json build(const Value& value, int depth);

  std::string problem_;
  List stack_;
  List containers_;
  std::size_t pushed_ = 0;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Shared> memo_;
  std::size_t built_ = 0;
};

}  // namespace lockstep::imports
