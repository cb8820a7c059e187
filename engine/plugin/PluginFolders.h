#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::plugin {

/// A folder in which libraries of hooks are looked for.
struct PluginFolder {
  enum class Kind { kBuiltIn, kUser, kExperiment };
  Kind kind = Kind::kBuiltIn;
  std::string path;
};

/// Returns the folders in the order in which a hook's id is looked up: the experiment's own
/// (`hooks` beside the file, if a file is given), the user's ($LOCKSTEP_HOOKS, a list with colons;
/// $XDG_DATA_HOME/lockstep/hooks), and what Lockstep brings (hooks, then ../lib/lockstep/hooks,
/// seen from the folder of the running program). Some may not exist.
std::vector<PluginFolder> pluginFolders(const std::string& experimentFile = {});

/// Their paths, for a message: "/a/hooks, /b/hooks".
std::string pathsText(const std::vector<PluginFolder>& folders);

/// "built-in", "user", "experiment".
std::string_view name(PluginFolder::Kind kind);

/// Returns the shared libraries (*.so) in a folder, sorted; none if there is no such folder.
std::vector<std::string> librariesIn(const PluginFolder& folder);

}  // namespace lockstep::plugin
