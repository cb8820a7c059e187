#pragma once

#include <filesystem>

#include "engine/base/Result.h"

namespace lockstep::trace {

/// Writes the run that tests/golden/run-1.8.lockstep holds. A golden file is never written
/// anew for its version: it stands for the files that users have.
base::Status writeGoldenRun(const std::filesystem::path& path);

}  // namespace lockstep::trace
