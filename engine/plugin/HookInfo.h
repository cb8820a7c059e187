#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::plugin {

/// One parameter of a hook: what a form shows, a checker checks and the hook is given.
struct HookParam {
  enum class Type { kBool, kInteger, kReal, kChoice, kText };

  std::string key;
  std::string label;
  std::string help;
  std::string unit;  ///< "" = none
  Type type = Type::kReal;
  bool live = false;      ///< may change during a run
  bool advanced = false;  ///< shown when asked for
  bool logScale = false;
  double min = 0;  ///< of integers and reals; both ends are allowed
  double max = 0;
  double initial = 0;        ///< bool (0, 1), integer, real
  std::string initialText;   ///< choice, text
  std::vector<std::string> choices{};

  bool operator==(const HookParam&) const = default;
};

/// What a plugin says of one of its hooks.
struct HookInfo {
  std::string id;  ///< what `hook.name` of an experiment says
  std::string name;
  std::string vendor;
  std::string version;
  std::string summary;
  std::uint32_t caps = 0;     ///< LOCKSTEP_CAP_... of plugins/abi
  std::uint32_t dtypes = 0;   ///< bit LOCKSTEP_F32, ... set: takes buckets of it
  std::uint32_t devices = 0;  ///< bit LOCKSTEP_CPU, ...
  double meanError = -1;      ///< lockstep_hook_info::mean_error; negative: no promise
  std::vector<HookParam> params;
  /// Of a hook with its defaults, as far as it was made for one rank (PluginLibrary::probed()):
  /// "state", "step", "optimizer", "live-params"; and "replicas" if they drift.
  std::vector<std::string> extensions{};
  std::string refusal{};  ///< why it could not be made; its extensions are not known then

  /// Of the engine's dtypes, as an experiment calls them: "float32", ...
  [[nodiscard]] std::vector<std::string> dtypeNames() const;
  /// As processes.device calls them: "cpu", "cuda".
  [[nodiscard]] std::vector<std::string> deviceNames() const;
  [[nodiscard]] bool has(std::string_view extension) const;

  bool operator==(const HookInfo&) const = default;
};

/// What a library of hooks holds.
struct PluginInfo {
  std::string path;
  std::uint32_t abiMinor = 0;
  std::vector<HookInfo> hooks;

  bool operator==(const PluginInfo&) const = default;
};

/// "bool", "int", "real", "choice", "text".
std::string_view name(HookParam::Type type);

/// The JSON that lockstep-hookscan prints, and back. [any-thread]
std::string toJson(const PluginInfo& plugin);
base::Result<PluginInfo> pluginInfoFromJson(std::string_view json);

}  // namespace lockstep::plugin
