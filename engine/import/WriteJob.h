#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/import/JobClock.h"

namespace lockstep::imports {

struct JobProblem {
  std::string severity;  ///< "warning" or "error"
  int rank = -1;
  std::string text;
};

struct JobFacts {
  std::string name;
  std::string sources;  ///< the paths that were given
  std::string kinds;    ///< "2 Kineto traces"
  int worldSize = 0;
  std::string runFile;       ///< set by writeJob
  bool rankAssumed = false;  ///< its only file does not say of which rank it is
  std::vector<JobProblem> problems;
};

struct WrittenJob {
  std::uint64_t events = 0;
  std::vector<std::string> problems;
};

/// Writes a job as a run that has ended. Its ticks are ns; run time 0 is a second before its first
/// event. After an error there is no file.
base::Result<WrittenJob> writeJob(const Job& job, const JobFacts& facts,
                                  const std::filesystem::path& runFile);

}  // namespace lockstep::imports
