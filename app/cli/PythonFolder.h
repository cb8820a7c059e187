#pragma once

#include <filesystem>

#include "engine/base/Result.h"

namespace lockstep::cli {

/// The folder whose `lockstep` is the Python package of this build or installation.
base::Result<std::filesystem::path> pythonFolder();

}  // namespace lockstep::cli
