#pragma once

#include <string>
#include <vector>

#include "engine/launch/Job.h"
#include "tests/engine/launch/LaunchFixture.h"

namespace lockstep::launch {

/// Records jobs without PyTorch.
class JobFixture : public LaunchFixture {
 protected:
  /// Records tests/engine/launch/fake_job.py.
  base::Result<JobOutcome> record(std::vector<std::string> arguments);
  base::Result<JobOutcome> record();

  /// tests/engine/launch/fake_job.py as a command.
  static std::vector<std::string> fakeJob(std::vector<std::string> arguments);
  /// That finds Lockstep's Python package.
  static std::vector<std::string> jobEnvironment();
  [[nodiscard]] std::vector<std::string> problems() const;

  JobOptions job;
  std::string output;
  std::string errors;
};

}  // namespace lockstep::launch
