#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <stdexcept>

#include "engine/base/JsonFields.h"
#include "engine/plugin/HookInfo.h"

namespace lockstep::plugin {

namespace {

constexpr std::array<std::string_view, 5> kTypes{"bool", "int", "real", "choice", "text"};

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

void to_json(nlohmann::json& out, HookParam::Type type) {
  out = name(type);
}

void from_json(const nlohmann::json& in, HookParam::Type& type) {
  const auto text = in.get<std::string>();
  const auto found = std::find(kTypes.begin(), kTypes.end(), text);
  if (found == kTypes.end()) {
    throw std::invalid_argument(fmt::format("no type of parameter is called '{}'", text));
  }
  type = static_cast<HookParam::Type>(found - kTypes.begin());
}

// Note [Fields of JSON]
template <typename A, base::Like<HookParam> M>
void fields(A& a, M& m) {
  a("key", m.key, "label", m.label, "help", m.help, "unit", m.unit, "type", m.type, "live", m.live,
    "advanced", m.advanced, "log_scale", m.logScale, "min", m.min, "max", m.max, "initial",
    m.initial, "initial_text", m.initialText, "choices", m.choices);
}

template <typename A, base::Like<HookInfo> M>
void fields(A& a, M& m) {
  a("id", m.id, "name", m.name, "vendor", m.vendor, "version", m.version, "summary", m.summary,
    "caps", m.caps, "dtypes", m.dtypes, "devices", m.devices, "mean_error", m.meanError, "params",
    m.params, "extensions", m.extensions, "refusal", m.refusal);
}

template <typename A, base::Like<PluginInfo> M>
void fields(A& a, M& m) {
  a("path", m.path, "abi_minor", m.abiMinor, "hooks", m.hooks);
}

std::string toJson(const PluginInfo& plugin) {
  return base::JsonWriter::of(plugin).dump(2);
}

base::Result<PluginInfo> pluginInfoFromJson(std::string_view text) {
  return base::fromJsonText<PluginInfo>(text, "not a description of hooks");
}

}  // namespace lockstep::plugin
