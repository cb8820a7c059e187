#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Parse.h"

namespace lockstep::experiment {

/// One experiment file in a list, with everything that is wrong with it.
struct ListedExperiment {
  std::filesystem::path path;
  std::string name;  ///< the file's name without its suffix where the file names none
  std::string shows;
  std::string lookFor;  ///< lookForOf its text
  std::vector<Mistake> mistakes;
};

/// What one should look for in a run of an experiment, as the comment at the head of its file says:
/// the paragraph that begins with "Look for:", or "Expected:", without that; empty: it says nothing.
std::string lookForOf(std::string_view text);

/// Reads one file.
ListedExperiment listExperiment(const std::filesystem::path& path);

/// Returns the experiments (*.toml) in `folder` and the folders below it, in order of path.
/// A broken file is listed with its mistakes; a folder that cannot be read is an error.
base::Result<std::vector<ListedExperiment>> listExperiments(const std::filesystem::path& folder);

}  // namespace lockstep::experiment
