#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/base/Result.h"
#include "engine/plugin/HookInfo.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::plugin {

/// Whether create() made what a host cannot do without: a table with run, resume and destroy.
/// [any-thread]
bool isWhole(const lockstep_hook* hook);

/// A shared library of hooks, opened and checked. Opening runs code of the plugin, which may
/// crash: only lockstep-rank, lockstep-hookscan and lockstep-hookverify do it. The library stays
/// mapped until the process ends, since threads and static objects of its own may outlive every
/// hook.
class PluginLibrary {
 public:
  /// Opens and checks `path`; each refusal is a sentence of its own: no such file, no shared
  /// library (with the loader's reason), no entry, another version of the border, a function
  /// that is missing, an init() that refused, a description that cannot be. While a library is
  /// open it is the same one for all who open it, so that init() is called once. [any-thread]
  static base::Result<std::shared_ptr<PluginLibrary>> open(const std::string& path);

  /// Calls the plugin's deinit(). No hook of it may be left.
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  [[nodiscard]] const PluginInfo& info() const { return info_; }
  /// The same, with what is known only of hooks that were made: each is made for one rank and
  /// destroyed. Calls `before` with each hook's id, since a hook may crash then.
  [[nodiscard]] PluginInfo probed(const std::function<void(const std::string& id)>& before) const;
  /// Null when this library has no hook of that id.
  [[nodiscard]] const HookInfo* find(std::string_view id) const;

  /// Field lockstep_plugin::create.
  lockstep_status create(const lockstep_host* host, const char* id, const lockstep_value* values,
                         std::uint32_t count, lockstep_hook** out) const {
    return entry_.create(host, id, values, count, out);
  }

 private:
  PluginLibrary(lockstep_plugin entry, PluginInfo info);
  static base::Result<std::shared_ptr<PluginLibrary>> load(const std::string& path,
                                                           const std::string& absolute);

  const lockstep_plugin entry_;
  const PluginInfo info_;
};

}  // namespace lockstep::plugin
