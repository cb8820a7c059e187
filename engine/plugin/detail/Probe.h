#pragma once

#include <functional>

#include "engine/plugin/HookInfo.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::plugin::detail {

/// Makes the hook for a world of one rank, which never communicates, and destroys it: what it can
/// do is known only of a hook that has been made. Fills in `extensions`, or `refusal`.
using Create =
    std::function<lockstep_status(const lockstep_host*, const char* id, const lockstep_value*,
                                  std::uint32_t count, lockstep_hook** out)>;
void probe(HookInfo& hook, const Create& create);

}  // namespace lockstep::plugin::detail
