#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <string>

namespace lockstep::train {

/// Returns the type of floating-point numbers of this name, as experiment files write it
/// ("float32", "float64", "float16", "bfloat16"), or nothing.
std::optional<c10::ScalarType> floatingType(const std::string& name);

}  // namespace lockstep::train
