#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Parse.h"

namespace lockstep::experiment {

/// One experiment file in a list, with everything that is wrong with it.
struct ListedExperiment {
  std::filesystem::path path;
  std::string name;  ///< the file's name without its suffix where the file names none
  std::string shows;
  std::vector<Mistake> mistakes;
};

/// Returns the experiments (*.toml) in `folder` and the folders below it, in order of path.
/// A broken file is listed with its mistakes; a folder that cannot be read is an error.
base::Result<std::vector<ListedExperiment>> listExperiments(const std::filesystem::path& folder);

}  // namespace lockstep::experiment
