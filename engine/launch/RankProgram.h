#pragma once

#include <filesystem>

#include "engine/base/Result.h"

namespace lockstep::launch {

/// Returns the program a rank runs: $LOCKSTEP_RANK when set, else `lockstep-rank` beside this
/// executable. Error (kEnvironment): it is missing or cannot be executed.
base::Result<std::filesystem::path> findRankProgram();

}  // namespace lockstep::launch
