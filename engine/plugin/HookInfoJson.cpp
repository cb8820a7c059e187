#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "engine/plugin/HookInfo.h"

namespace lockstep::plugin {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> kTypes{"bool", "int", "real", "choice", "text"};

HookParam::Type typeOf(const std::string& text) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == text) {
      return static_cast<HookParam::Type>(i);
    }
  }
  throw std::invalid_argument(fmt::format("no type of parameter is called '{}'", text));
}

json paramJson(const HookParam& param) {
  return {{"key", param.key},         {"label", param.label},
          {"help", param.help},       {"unit", param.unit},
          {"type", name(param.type)}, {"live", param.live},
          {"advanced", param.advanced}, {"log_scale", param.logScale},
          {"min", param.min},         {"max", param.max},
          {"initial", param.initial}, {"initial_text", param.initialText},
          {"choices", param.choices}};
}

HookParam paramFrom(const json& in) {
  HookParam param;
  in.at("key").get_to(param.key);
  in.at("label").get_to(param.label);
  in.at("help").get_to(param.help);
  in.at("unit").get_to(param.unit);
  param.type = typeOf(in.at("type").get<std::string>());
  in.at("live").get_to(param.live);
  in.at("advanced").get_to(param.advanced);
  in.at("log_scale").get_to(param.logScale);
  in.at("min").get_to(param.min);
  in.at("max").get_to(param.max);
  in.at("initial").get_to(param.initial);
  in.at("initial_text").get_to(param.initialText);
  in.at("choices").get_to(param.choices);
  return param;
}

/// The names of the bits that are set.
std::vector<std::string> namesOf(std::uint32_t bits, std::initializer_list<const char*> all) {
  std::vector<std::string> names;
  for (std::uint32_t number = 0; const char* each : all) {
    if ((bits >> number++ & 1U) != 0) {
      names.emplace_back(each);
    }
  }
  return names;
}

}  // namespace

std::string_view name(HookParam::Type type) {
  return kTypes[static_cast<std::size_t>(type)];
}

std::vector<std::string> HookInfo::dtypeNames() const {
  return namesOf(dtypes, {"", "float32", "float16", "bfloat16", "float64", "int32", "int64", "uint8"});
}

std::vector<std::string> HookInfo::deviceNames() const {
  return namesOf(devices, {"", "cpu", "cuda"});
}

bool HookInfo::has(std::string_view extension) const {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

std::string toJson(const PluginInfo& plugin) {
  json hooks = json::array();
  for (const HookInfo& hook : plugin.hooks) {
    json params = json::array();
    for (const HookParam& param : hook.params) {
      params.push_back(paramJson(param));
    }
    hooks.push_back({{"id", hook.id},
                     {"name", hook.name},
                     {"vendor", hook.vendor},
                     {"version", hook.version},
                     {"summary", hook.summary},
                     {"caps", hook.caps},
                     {"dtypes", hook.dtypes},
                     {"devices", hook.devices},
                     {"mean_error", hook.meanError},
                     {"params", std::move(params)},
                     {"extensions", hook.extensions},
                     {"refusal", hook.refusal}});
  }
  return json{{"path", plugin.path}, {"abi_minor", plugin.abiMinor}, {"hooks", std::move(hooks)}}
      .dump(2);
}

base::Result<PluginInfo> pluginInfoFromJson(std::string_view text) {
  try {
    const json in = json::parse(text);
    PluginInfo plugin;
    in.at("path").get_to(plugin.path);
    in.at("abi_minor").get_to(plugin.abiMinor);
    for (const json& entry : in.at("hooks")) {
      HookInfo& hook = plugin.hooks.emplace_back();
      entry.at("id").get_to(hook.id);
      entry.at("name").get_to(hook.name);
      entry.at("vendor").get_to(hook.vendor);
      entry.at("version").get_to(hook.version);
      entry.at("summary").get_to(hook.summary);
      entry.at("caps").get_to(hook.caps);
      entry.at("dtypes").get_to(hook.dtypes);
      entry.at("devices").get_to(hook.devices);
      entry.at("mean_error").get_to(hook.meanError);
      for (const json& param : entry.at("params")) {
        hook.params.push_back(paramFrom(param));
      }
      entry.at("extensions").get_to(hook.extensions);
      entry.at("refusal").get_to(hook.refusal);
    }
    return plugin;
  } catch (const std::exception& error) {
    return base::Error{base::ExitCode::kHookFailed,
                       fmt::format("not a description of hooks: {}", error.what()), {}};
  }
}

}  // namespace lockstep::plugin
