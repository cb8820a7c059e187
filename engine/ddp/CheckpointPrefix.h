#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>

namespace lockstep::ddp {

/// Tensors by fully qualified name, as a checkpoint holds them.
using StateDict = std::map<std::string, at::Tensor>;

/// What PyTorch's DistributedDataParallel puts before every key, as it holds its model as a
/// submodule of that name. Lockstep's keys have no prefix.
inline constexpr std::string_view kModulePrefix = "module.";

/// Returns `state` with `prefix` before every key, for a checkpoint that PyTorch's wrapped model is
/// to load. The tensors are shared.
[[nodiscard]] StateDict withPrefix(const StateDict& state, std::string_view prefix = kModulePrefix);

/// Returns `state` with `prefix` taken off each key that begins with it; others stay
/// (consume_prefix_in_state_dict_if_present). The tensors are shared. Throws DdpError when two
/// keys become one.
[[nodiscard]] StateDict withoutPrefix(const StateDict& state,
                                      std::string_view prefix = kModulePrefix);

}  // namespace lockstep::ddp
