#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/ChildProcess.h"

namespace lockstep::process_group {

/// How a job of mpirun's ended.
struct MpiJob {
  support::ExitStatus status;
  std::string output;
  std::string errors;
  std::chrono::milliseconds took{};
};

/// The path of mpirun, if there is one.
std::optional<std::string> mpirunPath();

/// Starts `program` as `ranks` processes of one job.
support::ChildProcess startMpi(int ranks, const std::string& program,
                               const std::vector<std::string>& arguments,
                               const std::vector<std::pair<std::string, std::string>>& environment);

/// The same, and waits for its end; throws when it does not come within `patience`.
MpiJob runMpi(int ranks, const std::string& program, const std::vector<std::string>& arguments,
              const std::vector<std::pair<std::string, std::string>>& environment,
              std::chrono::milliseconds patience = std::chrono::seconds(60));

}  // namespace lockstep::process_group
