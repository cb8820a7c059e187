#pragma once

#include <cstdlib>
#include <string>

namespace lockstep::support {

/// The path of a program or plugin of this build: "hooks/fp16.so".
inline std::string built(const std::string& file) {
  return std::string(std::getenv("LOCKSTEP_BIN")) + "/" + file;
}

}  // namespace lockstep::support
