#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::plugin::detail {

/// How a child process ended and what it wrote.
struct ChildOutcome {
  bool timedOut = false;  ///< and was killed
  int stoppedBy = 0;      ///< the signal that stopped it, whereupon it was killed; 0 = none
  int signal = 0;         ///< that ended it; 0 = none
  int exitCode = 0;
  std::string output;  ///< standard output, a megabyte at most
  std::string errors;  ///< standard error, a megabyte at most

  /// Of one that a signal ended, or stopped: "it crashed<when> (SEGV: Segmentation fault)", "it
  /// stopped its process (SIGSTOP)".
  [[nodiscard]] std::string crashText(const std::string& when = "") const;
  [[nodiscard]] std::string stopText() const;
};

/// Runs a program to its end, in a process group of its own with standard input closed, and then
/// ends whatever it left behind in that group. Error: it could not be started.
base::Result<ChildOutcome> runChild(const std::vector<std::string>& command,
                                    std::chrono::milliseconds timeLimit);

}  // namespace lockstep::plugin::detail
