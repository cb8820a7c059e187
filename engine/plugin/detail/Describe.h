#pragma once

#include "engine/base/Result.h"
#include "engine/plugin/HookInfo.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::plugin::detail {

/// Copies what a plugin says of its hooks, reading each struct to its own size. Error: the first
/// thing in it that cannot be, naming hook and parameter.
base::Result<PluginInfo> describe(const lockstep_plugin& entry);

}  // namespace lockstep::plugin::detail
