#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plugin/HookInfo.h"
#include "engine/plugin/PluginFolders.h"

namespace lockstep::plugin {

/// What lockstep-hookscan writes to standard error before it makes a hook: "making hook 'topk'".
inline constexpr const char* kMakingHook = "making hook ";

struct ScanOptions {
  std::string hookscan;  ///< path of lockstep-hookscan; "" = base::helperProgram()
  std::string cache;     ///< file; "" = $XDG_CACHE_HOME/lockstep/hooks.json
  std::chrono::milliseconds timeLimit{10000};  ///< for one library
};

/// A library that a scan came upon.
struct FoundLibrary {
  std::string path;
  PluginFolder::Kind from = PluginFolder::Kind::kBuiltIn;
  PluginInfo info;    ///< empty when refused
  std::string error;  ///< why it was refused, a sentence; empty when it was not
};

/// Describes one library by running lockstep-hookscan on it: a library that crashes, hangs or
/// writes nonsense is refused with a sentence, and the caller lives. A
/// description is kept in the cache, by path, size and time of the file; a refusal is not, since
/// what it was for may lie outside the file: a library that was missing, a machine that was busy.
/// [any-thread], blocking.
FoundLibrary scanLibrary(const std::string& path, PluginFolder::Kind from,
                         const ScanOptions& options = {});

/// Describes every library of the folders, in their order.
std::vector<FoundLibrary> scanFolders(const std::vector<PluginFolder>& folders,
                                      const ScanOptions& options = {});

/// The hook of that id: in the first library that has it. Null when there is none.
struct FoundHook {
  const FoundLibrary* library = nullptr;
  const HookInfo* hook = nullptr;
};
FoundHook findHook(const std::vector<FoundLibrary>& libraries, std::string_view id);

}  // namespace lockstep::plugin
