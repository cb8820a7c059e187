#include "engine/plugin/HookValues.h"

#include <cmath>
#include <cstdint>
#include <variant>

#include "engine/plugin/ResolveHooks.h"

namespace lockstep::plugin {

namespace {

using Type = HookParam::Type;

bool isTextual(const HookParam& param) {
  return param.type == Type::kChoice || param.type == Type::kText;
}

std::int32_t rawType(const HookParam& param) {
  // Both enums have the types in one order.
  return static_cast<std::int32_t>(param.type) + LOCKSTEP_BOOL;
}

/// As the experiment's schema would hold it.
experiment::HookValue schemaValue(const HookParam& param, const HookValue& value) {
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr) {
    return std::get<std::string>(value);
  }
  // The border has one number for three types. A bool of 0.5 stays a number, which the schema then
  // refuses.
  if (param.type == Type::kBool && (*number == 0 || *number == 1)) {
    return *number != 0;
  }
  const bool whole = param.type == Type::kInteger && *number == std::round(*number);
  return whole ? experiment::HookValue(static_cast<std::int64_t>(*number)) : *number;
}

}  // namespace

lockstep_value rawValue(const HookParam& param, const HookValue& value) {
  // No copies: key and text live as long as the arguments.
  lockstep_value raw{param.key.c_str(), rawType(param), 0, nullptr};
  if (isTextual(param)) {
    raw.text = std::get<std::string>(value).c_str();
  } else {
    raw.number = std::get<double>(value);
  }
  return raw;
}

std::vector<lockstep_value> valuesOf(const HookInfo& info,
                                     const std::map<std::string, HookValue>& chosen) {
  std::vector<lockstep_value> values;
  // Always one for each parameter: a plugin need not look whether it was given.
  for (const HookParam& param : info.params) {
    const auto given = chosen.find(param.key);
    if (given != chosen.end()) {
      values.push_back(rawValue(param, given->second));
    } else {
      values.push_back({param.key.c_str(), rawType(param), param.initial,
                        isTextual(param) ? param.initialText.c_str() : nullptr});
    }
  }
  return values;
}

std::optional<std::string> whatIsWrong(const HookParam& param, const HookValue& value) {
  return experiment::violation(fieldOf(param, param.key), schemaValue(param, value));
}

}  // namespace lockstep::plugin
