#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::ddp {

// Finds the tensors in what a forward returned: a tensor; pairs, tuples, optionals, variants and
// ranges (vector, array, list, map) of such, nested at will; and structs
// that name their members in a function found by argument-dependent lookup:
//
//   struct Output { at::Tensor scores; std::vector<at::Tensor> states; };
//   template <typename F> void visitTensors(Output& o, F& f) { f(o.scores); f(o.states); }
//
// Anything else holds no tensors.

template <typename Visit>
class OutputVisitor;

namespace detail {

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
struct IsVariant : std::false_type {};
template <typename... T>
struct IsVariant<std::variant<T...>> : std::true_type {};

template <typename T>
concept TupleLike = requires {
  typename std::tuple_size<T>::type;
};

template <typename T>
concept Range = requires(T& value) {
  value.begin();
  value.end();
};

template <typename T, typename F>
concept NamesItsTensors = requires(T& value, F& visitor) {
  visitTensors(value, visitor);
};

}  // namespace detail

/// Calls `visit(at::Tensor&)` for each tensor found.
template <typename Visit>
class OutputVisitor {
 public:
  explicit OutputVisitor(Visit visit) : visit_(std::move(visit)) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_const_v<T>) {
      // A map's key, or what the model does not let be replaced.
    } else if constexpr (std::is_base_of_v<at::Tensor, T>) {
      visit_(value);
    } else if constexpr (detail::NamesItsTensors<T, OutputVisitor>) {
      visitTensors(value, *this);
    } else if constexpr (detail::IsOptional<T>::value) {
      if (value.has_value()) {
        (*this)(*value);
      }
    } else if constexpr (detail::IsVariant<T>::value) {
      std::visit([this](auto& held) { (*this)(held); }, value);
    } else if constexpr (detail::Range<T>) {
      for (auto&& item : value) {
        (*this)(item);
      }
    } else if constexpr (detail::TupleLike<T>) {
      std::apply([this](auto&... items) { ((*this)(items), ...); }, value);
    }
  }

 private:
  Visit visit_;
};

/// Returns the addresses of the tensors in `output`, in the order of its members.
template <typename T>
std::vector<at::Tensor*> tensorsIn(T& output) {
  std::vector<at::Tensor*> found;
  OutputVisitor visitor([&found](at::Tensor& tensor) { found.push_back(&tensor); });
  visitor(output);
  return found;
}

}  // namespace lockstep::ddp
