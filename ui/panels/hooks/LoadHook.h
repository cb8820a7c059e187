#pragma once

#include <filesystem>
#include <string>

#include "engine/plugin/PluginScan.h"

namespace lockstep::ui {

/// What came of bringing a library of hooks into a folder.
struct LoadedHook {
  enum class Outcome {
    kLoaded,   ///< it lies in the folder now, or did before
    kRefused,  ///< it is no library of hooks that can be used; `library` says why; not copied
    kExists,   ///< another file of its name lies there
    kFailed,   ///< it could not be copied
  };
  Outcome outcome = Outcome::kFailed;
  plugin::FoundLibrary library;  ///< as it was described where it came from
  std::string target;            ///< where it lies, or would
  std::string error;             ///< kFailed: a sentence
};

/// Asks lockstep-hookscan what a library is and copies it into `folder`, which is made when it is
/// missing. A file of its name is only replaced when `replace` says so; ranks that have it open
/// keep what they opened. Blocks. [any-thread]
LoadedHook loadHook(const std::filesystem::path& library, const std::filesystem::path& folder,
                    bool replace, const plugin::ScanOptions& options);

}  // namespace lockstep::ui
