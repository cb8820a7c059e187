#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace lockstep::ddp {

/// Returns "float32", "int64", "bfloat16", ... as messages and error texts name a dtype.
std::string dtypeName(at::ScalarType type);

/// The type of floating-point numbers of such a name ("float32", "float64", "float16", "bfloat16");
/// nothing for another.
std::optional<at::ScalarType> floatingType(const std::string& name);

/// Returns "float32 [10, 5]".
std::string describe(const at::Tensor& tensor);

/// Returns "'fc.weight' (3)", the form in which every text names a parameter.
std::string quoted(const std::string& name, std::size_t index);

/// Joins texts with commas; beyond `most` it ends with "and n more".
std::string listed(const std::vector<std::string>& texts, std::size_t most = 20);

}  // namespace lockstep::ddp
