#include "engine/process_group/Reduction.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "engine/kernels/Kernels.h"

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
      // Small integers are promoted to int, in which a product of two 16-bit numbers may overflow.
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
      // NaN wins, as in torch.minimum: a rank's NaN must not vanish in the result.
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

// Note [Order of reduction]
// Elements are combined in rank order, whatever the algorithm, the number of segments and the
// place of an element in its buffer. So all ranks get the same bits, and so does a run with
// other buckets. Memory is read once: a block of the result stays in the first-level cache
// while the sources pass over it.
template <typename T, typename Op, bool kDivide>
void combine(void* outVoid, const void* const* sources, int count, std::size_t elements,
             int divisor) {
  T* out = static_cast<T*>(outVoid);
  const auto source = [&](int i) { return static_cast<const T*>(sources[i]); };
  if constexpr (!kDivide) {
    // Two ranks: straight from memory to memory, without the block.
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
  constexpr std::size_t kBlock = 8192 / sizeof(T);
  T block[kBlock];
  for (std::size_t begin = 0; begin < elements; begin += kBlock) {
    // Block by block, so that the partial result never leaves the first-level cache (8 KiB of it).
    const std::size_t size = std::min(kBlock, elements - begin);
    std::copy_n(source(0) + begin, size, block);
    for (int s = 1; s < count; ++s) {
      const T* from = source(s) + begin;
      for (std::size_t i = 0; i < size; ++i) {
        block[i] = Op::template apply<T>(block[i], from[i]);
      }
    }
    if constexpr (kDivide) {
      const T divideBy = static_cast<T>(divisor);
      for (std::size_t i = 0; i < size; ++i) {
        block[i] /= divideBy;
      }
    }
    // Only now: `out` may be one of the sources, which were all read for this block.
    std::copy_n(block, size, out + begin);
  }
}

// What the processor has for a half type.
struct HalfLoops {
  decltype(kernels::Kernels::fromHalf) toFloat;
  decltype(kernels::Kernels::toHalf) fromFloat;
  decltype(kernels::Kernels::sumHalf) sum;
};

template <typename T>
HalfLoops loopsOf() {
  const kernels::Kernels& all = kernels::kernels();
  if constexpr (std::is_same_v<T, c10::Half>) {
    return {all.fromHalf, all.toHalf, all.sumHalf};
  } else {
    return {all.fromBfloat16, all.toBfloat16, all.sumBfloat16};
  }
}

template <typename T, bool kDivide>
void sumHalves(void* out, const void* const* sources, int count, std::size_t elements,
               int divisor) {
  loopsOf<T>().sum(sources, count, static_cast<std::uint16_t*>(out), elements,
                   kDivide ? static_cast<float>(divisor) : 1.0F);
}

// Combines in float and rounds once.
template <typename T, typename Op>
void combineHalves(void* outVoid, const void* const* sources, int count, std::size_t elements,
                   int) {
  const HalfLoops loops = loopsOf<T>();
  const auto source = [&](int i) { return static_cast<const std::uint16_t*>(sources[i]); };
  auto* out = static_cast<std::uint16_t*>(outVoid);
  constexpr std::size_t kBlock = 8192 / sizeof(float);
  float block[kBlock];
  float next[kBlock];
  for (std::size_t begin = 0; begin < elements; begin += kBlock) {
    const std::size_t size = std::min(kBlock, elements - begin);
    loops.toFloat(source(0) + begin, block, size);
    for (int s = 1; s < count; ++s) {
      loops.toFloat(source(s) + begin, next, size);
      for (std::size_t i = 0; i < size; ++i) {
        block[i] = Op::template apply<float>(block[i], next[i]);
      }
    }
    loops.fromFloat(block, out + begin, size);
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
Combine half(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return sumHalves<T, false>;
    case ReduceOp::kAverage: return sumHalves<T, true>;
    case ReduceOp::kProduct: return combineHalves<T, Product>;
    case ReduceOp::kMin: return combineHalves<T, Min>;
    case ReduceOp::kMax: return combineHalves<T, Max>;
    default: return nullptr;
  }
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
    case c10::ScalarType::Half: return half<c10::Half>(op);
    case c10::ScalarType::BFloat16: return half<c10::BFloat16>(op);
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
