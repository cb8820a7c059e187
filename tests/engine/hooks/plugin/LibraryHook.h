#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <utility>

#include "tests/engine/hooks/plugin/HookRanks.h"

namespace lockstep::hooks::test {

using Values = std::map<std::string, plugin::HookValue>;

/// A hook that Lockstep brings.
inline plugin::HookChoice libraryHook(const std::string& id, Values values = {}) {
  return {builtHook("hooks/" + id + ".so", id, std::move(values))};
}

/// The largest difference, in units of b's root mean square.
inline double apart(const at::Tensor& a, const at::Tensor& b) {
  const double scale = b.square().mean().sqrt().item<double>();
  return (a - b).abs().max().item<double>() / (scale > 0 ? scale : 1);
}

}  // namespace lockstep::hooks::test
