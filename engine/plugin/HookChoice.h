#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace lockstep::plugin {

/// The value of a hook's parameter: bool, integer and real as a number.
using HookValue = std::variant<double, std::string>;

/// One hook of one library, with a value for each of its parameters.
struct ChosenHook {
  std::string library;  ///< path
  std::string id;
  std::map<std::string, HookValue> values;

  bool operator==(const ChosenHook&) const = default;
};

/// What an experiment chose: a hook, and the hooks inside it, the outermost first.
using HookChoice = std::vector<ChosenHook>;

}  // namespace lockstep::plugin
