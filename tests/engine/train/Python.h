#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::train {

/// Runs a script with Debian's Python and returns what it prints, as JSON; throws
/// std::runtime_error with its stderr when it fails.
nlohmann::json runPython(const std::string& script, const std::vector<std::string>& arguments = {});

}  // namespace lockstep::train
