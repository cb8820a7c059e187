#include "engine/process_group/Reduction.h"

#include "engine/process_group/HalfConversion.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

// This file is compiled at -O3: the loops below are what an allreduce computes.

namespace lockstep::process_group::reduction {
namespace {

template <typename T>
constexpr bool kFloating = std::is_floating_point_v<T>;

// Integers are combined as unsigned: signed overflow is undefined, wrapping is not.
struct Sum {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (kFloating<T>) {
      return a + b;
    } else if constexpr (sizeof(T) < 4) {
      return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
    } else {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    }
  }
};

struct Product {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (kFloating<T>) {
      return a * b;
    } else if constexpr (sizeof(T) < 4) {
      return static_cast<T>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
    } else {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    }
  }
};

struct Min {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (kFloating<T>) {
      return a != a || a < b ? a : b;
    } else {
      return a < b ? a : b;
    }
  }
};

struct Max {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (kFloating<T>) {
      return a != a || a > b ? a : b;
    } else {
      return a > b ? a : b;
    }
  }
};

struct And {
  template <typename T>
  static T apply(T a, T b) { return static_cast<T>(a & b); }
};
struct Or {
  template <typename T>
  static T apply(T a, T b) { return static_cast<T>(a | b); }
};
struct Xor {
  template <typename T>
  static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};

// The type a sum is kept in.
template <typename T>
struct Accumulator {
  using Type = T;
};
template <>
struct Accumulator<c10::Half> {
  using Type = float;
};
template <>
struct Accumulator<c10::BFloat16> {
  using Type = float;
};

// Blocks of sources in the type they are summed in.
template <typename T, typename Acc>
void load(const T* from, Acc* to, std::size_t count) {
  if constexpr (std::is_same_v<T, c10::Half>) {
    convert(from, to, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = static_cast<Acc>(from[i]);
    }
  }
}

template <typename T, typename Acc>
void store(const Acc* from, T* to, std::size_t count) {
  if constexpr (std::is_same_v<T, c10::Half>) {
    convert(from, to, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = static_cast<T>(from[i]);
    }
  }
}

// Note [Order of reduction]
// Elements are combined in rank order, whatever the algorithm, the number of segments and the
// place of an element in its buffer. So all ranks get the same bits, and so does a run with
// other buckets. Memory is read once: a block of the result stays in the first-level cache
// while the sources pass over it.
template <typename T, typename Op, bool kDivide>
void combine(void* outVoid, const void* const* sources, int count, std::size_t elements,
             int divisor) {
  using Acc = typename Accumulator<T>::Type;
  T* out = static_cast<T*>(outVoid);
  const auto source = [&](int i) { return static_cast<const T*>(sources[i]); };
  if constexpr (std::is_same_v<T, Acc> && !kDivide) {
    if (count == 2) {
      const T* a = source(0);
      const T* b = source(1);
      // out may be a or b, but only at the same index.
#pragma GCC ivdep
      for (std::size_t i = 0; i < elements; ++i) {
        out[i] = Op::template apply<T>(a[i], b[i]);
      }
      return;
    }
  }
  constexpr std::size_t kBlock = 8192 / sizeof(Acc);
  Acc block[kBlock];
  Acc next[kBlock];
  for (std::size_t begin = 0; begin < elements; begin += kBlock) {
    const std::size_t size = std::min(kBlock, elements - begin);
    load(source(0) + begin, block, size);
    for (int s = 1; s < count; ++s) {
      const Acc* from = next;
      if constexpr (std::is_same_v<T, Acc>) {
        from = source(s) + begin;
      } else {
        load(source(s) + begin, next, size);
      }
      for (std::size_t i = 0; i < size; ++i) {
        block[i] = Op::template apply<Acc>(block[i], from[i]);
      }
    }
    if constexpr (kDivide) {
      const Acc divideBy = static_cast<Acc>(divisor);
      for (std::size_t i = 0; i < size; ++i) {
        block[i] /= divideBy;
      }
    }
    store(block, out + begin, size);
  }
}

template <typename T>
Combine arithmetic(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return combine<T, Sum, false>;
    case ReduceOp::kProduct: return combine<T, Product, false>;
    case ReduceOp::kMin: return combine<T, Min, false>;
    case ReduceOp::kMax: return combine<T, Max, false>;
    default: return nullptr;
  }
}

template <typename T>
Combine floating(ReduceOp op) {
  return op == ReduceOp::kAverage ? combine<T, Sum, true> : arithmetic<T>(op);
}

template <typename T>
Combine bitwise(ReduceOp op) {
  switch (op) {
    case ReduceOp::kBitwiseAnd: return combine<T, And, false>;
    case ReduceOp::kBitwiseOr: return combine<T, Or, false>;
    case ReduceOp::kBitwiseXor: return combine<T, Xor, false>;
    default: return nullptr;
  }
}

template <typename T>
Combine integral(ReduceOp op) {
  const Combine found = arithmetic<T>(op);
  return found != nullptr ? found : bitwise<T>(op);
}

Combine boolean(ReduceOp op) {
  // A bool is a byte of 0 or 1, so these are "and" and "or".
  switch (op) {
    case ReduceOp::kMin: return combine<std::uint8_t, Min, false>;
    case ReduceOp::kMax: return combine<std::uint8_t, Max, false>;
    default: return bitwise<std::uint8_t>(op);
  }
}

}  // namespace

Combine combiner(c10::ScalarType dtype, ReduceOp op) {
  switch (dtype) {
    case c10::ScalarType::Float: return floating<float>(op);
    case c10::ScalarType::Double: return floating<double>(op);
    case c10::ScalarType::Half: return floating<c10::Half>(op);
    case c10::ScalarType::BFloat16: return floating<c10::BFloat16>(op);
    case c10::ScalarType::Byte: return integral<std::uint8_t>(op);
    case c10::ScalarType::Char: return integral<std::int8_t>(op);
    case c10::ScalarType::Short: return integral<std::int16_t>(op);
    case c10::ScalarType::Int: return integral<std::int32_t>(op);
    case c10::ScalarType::Long: return integral<std::int64_t>(op);
    case c10::ScalarType::Bool: return boolean(op);
    default: return nullptr;
  }
}

std::string whyNot(c10::ScalarType dtype, ReduceOp op) {
  if (combiner(dtype, op) != nullptr) {
    return {};
  }
  const char* type = c10::toString(dtype);
  if (combiner(dtype, ReduceOp::kMin) == nullptr) {
    return fmt::format("tensors of dtype {} cannot be reduced", type);
  }
  if (dtype == c10::ScalarType::Bool) {
    return fmt::format("Bool tensors cannot be reduced with {}; use min, max or a bitwise operation",
                       name(op));
  }
  if (op == ReduceOp::kAverage) {
    return fmt::format("{} tensors cannot be averaged; use sum and divide, or a floating type",
                       type);
  }
  return fmt::format("{} needs integers or bools; the tensors are {}", name(op), type);
}

}  // namespace lockstep::process_group::reduction
