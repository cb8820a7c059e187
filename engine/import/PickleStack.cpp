#include "engine/import/PickleStack.h"

#include <fmt/format.h>

#include <iterator>

namespace lockstep::imports {
namespace {

constexpr std::size_t kMostValues = 10'000'000;  // of what is built, repeats and all
constexpr int kDeepest = 64;

}  // namespace

// Note [Values that hold each other]
// An opcode may put a list into itself, or a list into a list a million times. Then shared pointers
// alone would never free the first, and would free the second by a recursion a million deep. So
// every container is also in containers_, and the destructor empties each of them before any
// pointer goes: what they held is freed one by one, at depth 1.
//
//       ]  q0  h0  a      l = []; l.append(l)      a circle
//       ]  ]  ]  a  a     [[[]]]                   a chain
//
// Building JSON cannot share: `l = [0] * 9; l = [l] * 9; ...` of a few bytes becomes 9^n values. So
// what is built is counted anew (built_), and its depth bounded; both refuse before memory is gone.

PickleStack::~PickleStack() {
  for (const Shared& value : containers_) {
    value->is = nlohmann::json();
  }
}

void PickleStack::refuse(const std::string& why) {
  if (problem_.empty()) {
    problem_ = why;
  }
}

void PickleStack::push(Value value) {
  if (++pushed_ > kMostValues) {
    refuse("it has too many values");
    return;
  }
  stack_.push_back(std::make_shared<Value>(std::move(value)));
  // Only what can hold others needs the destructor's care.
  if (!std::holds_alternative<nlohmann::json>(stack_.back()->is)) {
    containers_.push_back(stack_.back());
  }
}
void PickleStack::push(nlohmann::json value) {
  push(Value{std::move(value)});
}

PickleStack::Shared PickleStack::pop() {
  // What lies below an open mark is not to be had before the mark is closed.
  if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) {
    refuse("a value is missing");
    // An empty value, so that callers need no test: after a refusal nothing is built.
    return std::make_shared<Value>();
  }
  Shared value = std::move(stack_.back());
  stack_.pop_back();
  return value;
}

PickleStack::List PickleStack::popToMark() {
  if (marks_.empty()) {
    refuse("a mark is missing");
    return {};
  }
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  List values(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(mark)),
              std::make_move_iterator(stack_.end()));
  stack_.resize(mark);
  return values;
}

template <typename Kind>
Kind* PickleStack::top(const char* wanted) {
  Kind* found = stack_.empty() ? nullptr : std::get_if<Kind>(&stack_.back()->is);
  if (found == nullptr) {
    refuse(fmt::format("there is no {} to add to", wanted));
  }
  return found;
}

void PickleStack::pushList() {
  push(Value{List{}});
}

void PickleStack::pushDict() {
  push(Value{Dict{}});
}

void PickleStack::drop() {
  pop();
}

void PickleStack::dropToMark() {
  popToMark();
}

void PickleStack::duplicate() {
  if (stack_.empty()) {
    refuse("a value is missing");
  } else {
    stack_.push_back(stack_.back());
  }
}

void PickleStack::remember(std::uint64_t index) {
  constexpr std::uint64_t kMostIndex = 1u << 28;
  if (stack_.empty() || index > kMostIndex) {
    refuse("there is nothing to remember");
    return;
  }
  memo_[index] = stack_.back();
}

void PickleStack::recall(std::uint64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) {
    refuse("it repeats what it has not remembered");
    return;
  }
  stack_.push_back(found->second);
}

void PickleStack::tuple(int size) {
  List values(static_cast<std::size_t>(size));
  for (int i = size; i-- > 0;) {
    values[static_cast<std::size_t>(i)] = pop();
  }
  push(Value{std::move(values)});
}

void PickleStack::append(const List& values) {
  if (List* list = top<List>("list")) {
    list->insert(list->end(), values.begin(), values.end());
  }
}

void PickleStack::setItems(const List& values) {
  Dict* dict = top<Dict>("dict");
  // Where there is no dict, top() has refused already, and the first reason stays.
  if (dict == nullptr || values.size() % 2 != 0) {
    refuse("a dict has a key without a value");
    return;
  }
  for (std::size_t i = 0; i < values.size(); i += 2) {
    dict->emplace_back(values[i], values[i + 1]);
  }
}

void PickleStack::tupleToMark() {
  push(Value{popToMark()});
}

void PickleStack::append() {
  append(List{pop()});
}

void PickleStack::appendToMark() {
  append(popToMark());
}

void PickleStack::setItem() {
  Shared value = pop();
  Shared key = pop();
  setItems(List{std::move(key), std::move(value)});
}

void PickleStack::setItems() {
  setItems(popToMark());
}

nlohmann::json PickleStack::build() {
  if (problem_.empty() && stack_.size() != 1) {
    refuse("it ends with other than one value");
  }
  return problem_.empty() ? build(*stack_.front(), 0) : nlohmann::json();
}

std::string PickleStack::keyOf(const Value& key) {
  const auto* plain = std::get_if<nlohmann::json>(&key.is);
  if (plain == nullptr || plain->is_binary()) {
    refuse("a dict has a key that is neither text nor number");
    return {};
  }
  return plain->is_string() ? plain->get<std::string>() : plain->dump();
}

nlohmann::json PickleStack::build(const Value& value, int depth) {
  if (depth > kDeepest) {
    refuse("its values hold each other too deep");
  }
  if (++built_ > kMostValues) {
    refuse("it repeats its values too often");
  }
  if (!problem_.empty()) {
    return {};
  }
  if (const auto* plain = std::get_if<nlohmann::json>(&value.is)) {
    return *plain;
  }
  if (const auto* list = std::get_if<List>(&value.is)) {
    nlohmann::json made = nlohmann::json::array();
    for (const Shared& item : *list) {
      made.push_back(build(*item, depth + 1));
    }
    return made;
  }
  nlohmann::json made = nlohmann::json::object();
  for (const auto& [key, item] : std::get<Dict>(value.is)) {
    made[keyOf(*key)] = build(*item, depth + 1);
  }
  return made;
}

}  // namespace lockstep::imports
