#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// The folder whose `lockstep` is the Python package of this build or installation.
base::Result<std::filesystem::path> pythonFolder();

/// What is watched of a job of PyTorch, beside what its script says. Alike on all its hosts.
struct JobWatching {
  std::string attach = "watch";  ///< or "auto"
  int checkReplicas = 0;         ///< every how many iterations; 0: never
  int checkGradients = 0;        ///< likewise
};

/// Adds its options to a command.
void addWatching(CLI::App& command, JobWatching& watching);

/// Returns this process' environment ("KEY=value") with Lockstep's Python package on its path, and
/// what the package is to do. Error (kEnvironment): this build has none.
base::Result<std::vector<std::string>> jobEnvironment(const JobWatching& watching);

/// Passes on what a job's command writes, at once.
void passOn(bool isError, std::string_view bytes);

}  // namespace lockstep::cli
