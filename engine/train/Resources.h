#pragma once

#include <filesystem>

#include "engine/base/Result.h"

namespace lockstep::train {

/// Returns the path of a file or folder that is shipped, such as "datasets/mnist10k". Looks in
/// $LOCKSTEP_RESOURCES if that is set; else in `../share/lockstep` beside an installed program's
/// folder, and in `resources` beside the build folder the program runs from.
/// Error (kEnvironment): it stands in none of them; the text lists where was looked.
base::Result<std::filesystem::path> resourcePath(const std::filesystem::path& name);

}  // namespace lockstep::train
