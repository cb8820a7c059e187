#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace lockstep::cli {

/// Returns the run file of tests/golden in that version of the format: "1.0".
/// Throws std::runtime_error when it is not said where the repository is.
inline std::string goldenRun(const std::string& version) {
  const char* source = std::getenv("LOCKSTEP_SOURCE");
  if (source == nullptr) {
    throw std::runtime_error("LOCKSTEP_SOURCE must name the repository's root");
  }
  return std::string(source) + "/tests/golden/run-" + version + ".lockstep";
}

}  // namespace lockstep::cli
