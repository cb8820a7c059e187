#include "engine/hooks/plugin/detail/HookValues.h"

#include <cmath>
#include <cstdint>
#include <variant>

#include "engine/plugin/ResolveHooks.h"

namespace lockstep::hooks::detail {

namespace {

using Type = plugin::HookParam::Type;

bool isTextual(const plugin::HookParam& param) {
  return param.type == Type::kChoice || param.type == Type::kText;
}

std::int32_t rawType(const plugin::HookParam& param) {
  return static_cast<std::int32_t>(param.type) + LOCKSTEP_BOOL;
}

/// As the experiment's schema would hold it.
experiment::HookValue schemaValue(const plugin::HookParam& param, const plugin::HookValue& value) {
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr) {
    return std::get<std::string>(value);
  }
  if (param.type == Type::kBool && (*number == 0 || *number == 1)) {
    return *number != 0;
  }
  const bool whole = param.type == Type::kInteger && *number == std::round(*number);
  return whole ? experiment::HookValue(static_cast<std::int64_t>(*number)) : *number;
}

}  // namespace

lockstep_value rawValue(const plugin::HookParam& param, const plugin::HookValue& value) {
  lockstep_value raw{param.key.c_str(), rawType(param), 0, nullptr};
  if (isTextual(param)) {
    raw.text = std::get<std::string>(value).c_str();
  } else {
    raw.number = std::get<double>(value);
  }
  return raw;
}

std::vector<lockstep_value> valuesOf(const plugin::HookInfo& info, const plugin::ChosenHook& hook) {
  std::vector<lockstep_value> values;
  for (const plugin::HookParam& param : info.params) {
    const auto given = hook.values.find(param.key);
    if (given != hook.values.end()) {
      values.push_back(rawValue(param, given->second));
    } else {
      values.push_back({param.key.c_str(), rawType(param), param.initial,
                        isTextual(param) ? param.initialText.c_str() : nullptr});
    }
  }
  return values;
}

std::optional<std::string> whatIsWrong(const plugin::HookParam& param,
                                       const plugin::HookValue& value) {
  return experiment::violation(plugin::fieldOf(param, param.key), schemaValue(param, value));
}

}  // namespace lockstep::hooks::detail
