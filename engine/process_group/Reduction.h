#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <string>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group::reduction {

/// Combines `sources[0] .. sources[count - 1]` in this order, element by element, into `out`,
/// which may be one of the sources. kAverage divides by `divisor`, the others ignore it.
///
/// Half and bfloat16 are summed in float and rounded once, so the result does not depend on
/// where a buffer was cut: two halves have the sum that Gloo's float16 has, bit by bit, NaN
/// (0x7FFF) included; of more, Gloo rounds each partial sum, in an order that depends on where it
/// stands. Integers wrap round. min and max return NaN when either is NaN.
/// [any-thread]
using Combine = void (*)(void* out, const void* const* sources, int count, std::size_t elements,
                         int divisor);

/// Returns the function for these, or null when whyNot() has a reason.
[[nodiscard]] Combine combiner(c10::ScalarType dtype, ReduceOp op);

/// The function with the size of the elements it takes.
struct Kernel {
  Combine combine = nullptr;
  std::size_t elementSize = 1;

  static Kernel of(c10::ScalarType dtype, ReduceOp op) {
    return {combiner(dtype, op), c10::elementSize(dtype)};
  }
};

/// Says in a sentence why `dtype` cannot be reduced with `op`; empty when it can. Floating
/// point: no bitwise operations. Integers: no average. Bool: min, max and bitwise only.
[[nodiscard]] std::string whyNot(c10::ScalarType dtype, ReduceOp op);

}  // namespace lockstep::process_group::reduction
