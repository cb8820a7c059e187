#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Parse.h"

namespace lockstep::experiment::detail {

/// Mistake::file of what an override says.
inline constexpr const char* kOverride = "--set";

/// parseText for one run of a sweep: `choice` says for each of its axes which value the run has;
/// an axis beyond its end has the first.
ParseOutcome parseRun(std::string_view toml, const std::string& name,
                      const std::filesystem::path& folder, const Overrides& overrides,
                      const std::vector<std::size_t>& choice);

/// Reads a file that may be an experiment's.
base::Result<std::string> readExperimentFile(const std::filesystem::path& path);

}  // namespace lockstep::experiment::detail
