#pragma once

#include <c10/util/Half.h>

#include <cstddef>

namespace lockstep::process_group::reduction {

/// Converts `count` values; rounds to the nearest, ties to even. Uses the processor's own
/// conversion where it has one (F16C), which is 10 times as fast. [any-thread]
void convert(const c10::Half* from, float* to, std::size_t count);
void convert(const float* from, c10::Half* to, std::size_t count);

}  // namespace lockstep::process_group::reduction
