#include "engine/plugin/detail/Describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <set>
#include <stdexcept>

namespace lockstep::plugin::detail {

namespace {

constexpr std::uint32_t kMostHooks = 256;
constexpr std::uint32_t kMostParams = 256;

// Thrown within this file, from any depth of what a plugin says; describe() makes an error of it.
[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument(text);
}

/// Copies a struct that starts with its size; fields that the plugin does not have stay zero.
template <typename T>
T copied(const T* given, const std::string& what, std::size_t smallest) {
  if (given == nullptr) {
    refuse(fmt::format("{} is null", what));
  }
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < smallest) {
    refuse(fmt::format("{} says that it is {} bytes long, {} are needed", what, size, smallest));
  }
  T copy{};
  std::memcpy(static_cast<void*>(&copy), given, std::min<std::size_t>(size, sizeof copy));
  return copy;
}

std::string text(const char* given) {
  return given == nullptr ? std::string() : std::string(given);
}

// It becomes a key, or a name, in experiment files.
bool isName(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

HookParam::Type typeOf(std::int32_t type, const std::string& what) {
  if (type < LOCKSTEP_BOOL || type > LOCKSTEP_TEXT) {
    refuse(fmt::format("{} is of type {}, which is none", what, type));
  }
  return static_cast<HookParam::Type>(type - LOCKSTEP_BOOL);
}

void checkNumber(const HookParam& param, const std::string& what) {
  if (!std::isfinite(param.initial) || std::isnan(param.min) || std::isnan(param.max) ||
      param.min > param.max || param.initial < param.min || param.initial > param.max) {
    refuse(fmt::format("{}: its default {} does not lie in its range, {} to {}", what,
                       param.initial, param.min, param.max));
  }
}

HookParam paramOf(const lockstep_param* given, const std::string& hook, std::uint32_t index) {
  const auto raw = copied(given, fmt::format("hook {}: parameter {}", hook, index),
                          offsetof(lockstep_param, choices) + sizeof(void*));
  HookParam param;
  param.key = text(raw.key);
  const std::string what = fmt::format("hook {}: parameter '{}'", hook, param.key);
  if (!isName(param.key)) {
    refuse(fmt::format("{} has no usable key: lower-case letters, digits and _", what));
  }
  param.label = raw.label == nullptr ? param.key : text(raw.label);
  param.help = text(raw.help);
  param.unit = text(raw.unit);
  param.type = typeOf(raw.type, what);
  param.live = (raw.flags & LOCKSTEP_PARAM_LIVE) != 0;
  param.advanced = (raw.flags & LOCKSTEP_PARAM_ADVANCED) != 0;
  param.logScale = (raw.flags & LOCKSTEP_PARAM_LOG_SCALE) != 0;
  param.min = raw.min;
  param.max = raw.max;
  param.initial = raw.initial;
  param.initialText = text(raw.initial_text);
  if (param.type == HookParam::Type::kBool) {
    param.min = 0;
    param.max = 1;
  }
  if (param.type == HookParam::Type::kChoice) {
    for (const char* const* choice = raw.choices; choice != nullptr && *choice != nullptr;
         ++choice) {
      param.choices.emplace_back(*choice);
    }
    if (std::find(param.choices.begin(), param.choices.end(), param.initialText) ==
        param.choices.end()) {
      refuse(fmt::format("{}: its default '{}' is not one of its choices", what,
                         param.initialText));
    }
  } else if (param.type != HookParam::Type::kText) {
    checkNumber(param, what);
  }
  return param;
}

HookInfo hookOf(const lockstep_hook_info* given, std::uint32_t index) {
  const auto raw = copied(given, fmt::format("the description of hook {}", index),
                          offsetof(lockstep_hook_info, params) + sizeof(void*));
  HookInfo hook;
  hook.id = text(raw.id);
  if (!isName(hook.id)) {
    refuse(fmt::format("hook {} has no usable id ('{}'): lower-case letters, digits and _", index,
                       hook.id));
  }
  hook.name = raw.name == nullptr ? hook.id : text(raw.name);
  hook.vendor = text(raw.vendor);
  hook.version = text(raw.version);
  hook.summary = text(raw.summary);
  hook.caps = raw.caps;
  hook.dtypes = raw.dtypes;
  hook.devices = raw.devices;
  hook.meanError = raw.mean_error;
  if (hook.dtypes == 0 || hook.devices == 0) {
    refuse(fmt::format("hook {} takes no {}", hook.id, hook.dtypes == 0 ? "dtype" : "device"));
  }
  if (raw.param_count > kMostParams || (raw.param_count > 0 && raw.params == nullptr)) {
    refuse(fmt::format("hook {} says that it has {} parameters", hook.id, raw.param_count));
  }
  std::set<std::string> keys;
  for (std::uint32_t i = 0; i < raw.param_count; ++i) {
    hook.params.push_back(paramOf(raw.params[i], hook.id, i));
    const std::string& key = hook.params.back().key;
    // In [hook] these are the experiment's own.
    if (key == "name" || key == "library" || key == "inner") {
      refuse(fmt::format("hook {} has a parameter '{}', which says something else in an experiment",
                         hook.id, key));
    }
    if (!keys.insert(key).second) {
      refuse(fmt::format("hook {} has two parameters '{}'", hook.id, hook.params.back().key));
    }
  }
  return hook;
}

}  // namespace

base::Result<PluginInfo> describe(const lockstep_plugin& entry) {
  try {
    PluginInfo plugin;
    plugin.abiMinor = entry.abi_minor;
    const std::uint32_t count = entry.hook_count();
    if (count == 0 || count > kMostHooks) {
      refuse(fmt::format("says that it has {} hooks", count));
    }
    std::set<std::string> ids;
    for (std::uint32_t i = 0; i < count; ++i) {
      plugin.hooks.push_back(hookOf(entry.hook_info(i), i));
      if (!ids.insert(plugin.hooks.back().id).second) {
        refuse(fmt::format("has two hooks '{}'", plugin.hooks.back().id));
      }
    }
    return plugin;
  } catch (const std::invalid_argument& error) {
    return base::Error{base::ExitCode::kHookFailed, error.what(), {}};
  }
}

}  // namespace lockstep::plugin::detail
