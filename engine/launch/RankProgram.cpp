#include "engine/launch/RankProgram.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include "engine/base/ShippedFiles.h"
#include "engine/base/Try.h"

namespace lockstep::launch {

base::Result<std::filesystem::path> findRankProgram() {
  std::filesystem::path program;
  std::string advice;
  if (const char* chosen = std::getenv("LOCKSTEP_RANK"); chosen != nullptr && *chosen != '\0') {
    program = chosen;
    advice = "LOCKSTEP_RANK must name the program that trains one rank";
  } else {
    const auto self = LOCKSTEP_TRY(base::programFile());
    program = self.parent_path() / "lockstep-rank";
    advice = "build it (LOCKSTEP_WITH_ENGINE=ON), or let LOCKSTEP_RANK name it";
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(program, error) || access(program.c_str(), X_OK) != 0) {
    return base::Error{base::ExitCode::kEnvironment,
                       "no program to execute here, and ranks need it; " + advice,
                       program.string()};
  }
  return std::filesystem::absolute(program);
}

}  // namespace lockstep::launch
