#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plugin/HookChoice.h"
#include "engine/plugin/HookInfo.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::hooks::detail {

/// The value of a parameter as the border has it; keys and texts are those of the arguments.
lockstep_value rawValue(const plugin::HookParam& param, const plugin::HookValue& value);

/// One for each parameter of a hook: what was chosen, or what it begins with.
std::vector<lockstep_value> valuesOf(const plugin::HookInfo& info, const plugin::ChosenHook& hook);

/// What is wrong with the type or the range of a value, or nothing.
std::optional<std::string> whatIsWrong(const plugin::HookParam& param,
                                       const plugin::HookValue& value);

}  // namespace lockstep::hooks::detail
