#pragma once

#include <filesystem>
#include <string>

namespace lockstep::cli {

/// The time of day as UTC, as it stands in the names of files: "20240501-120000".
std::string utcStamp();

/// Returns runs/<name>-<UTC stamp>.lockstep, in a sweep runs/<name>-<what is varied>-<UTC stamp>.
std::filesystem::path freshRunFile(const std::string& name, const std::string& part = "");

}  // namespace lockstep::cli
