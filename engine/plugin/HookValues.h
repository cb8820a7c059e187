#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/plugin/HookChoice.h"
#include "engine/plugin/HookInfo.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::plugin {

/// The value of a parameter as the border has it; keys and texts are those of the arguments.
/// The value is of the type that the parameter has. [any-thread]
lockstep_value rawValue(const HookParam& param, const HookValue& value);

/// One for each parameter of a hook: what was chosen, or what it begins with. [any-thread]
std::vector<lockstep_value> valuesOf(const HookInfo& info,
                                     const std::map<std::string, HookValue>& chosen);

/// What is wrong with the type or the range of a value, or nothing. [any-thread]
std::optional<std::string> whatIsWrong(const HookParam& param, const HookValue& value);

}  // namespace lockstep::plugin
