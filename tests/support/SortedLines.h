#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::support {

/// Returns the lines of a file, sorted: to compare files whose order says nothing. Throws
/// std::runtime_error when it cannot be read.
std::vector<std::string> sortedLines(const std::filesystem::path& path);

}  // namespace lockstep::support
