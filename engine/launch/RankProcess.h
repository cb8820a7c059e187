#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::launch {

/// How a process ended: by `signal`, or with `exitCode` when signal is 0.
struct ProcessEnd {
  int exitCode = 0;
  int signal = 0;
};

/// One rank as a direct child of this process, in a process group of its own, so that a
/// terminal's Ctrl-C reaches the supervisor alone. Started with posix_spawn: stdin is
/// /dev/null, stdout and stderr are pipes, the event memory and the experiment stand at
/// kTraceFd and kExperimentFd, and every other descriptor is closed. One thread; spawn from
/// the main thread, since the kernel's parent-death signal follows the thread that spawned.
class RankProcess {
 public:
  struct Options {
    int rank = 0;
    std::filesystem::path program;
    std::vector<std::string> environment;  ///< "KEY=value"
    int traceFd = -1;                      ///< stays the caller's
    std::string experimentToml;
  };

  static base::Result<RankProcess> spawn(const Options& options);
  RankProcess(RankProcess&& other) noexcept;
  RankProcess& operator=(RankProcess&&) = delete;

  /// Kills and reaps a process that is still there.
  ~RankProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidFd() const { return pidFd_; }    ///< readable once the process has ended
  [[nodiscard]] int outputFd() const { return outputFd_; }  ///< stdout, non-blocking
  [[nodiscard]] int errorFd() const { return errorFd_; }    ///< stderr, non-blocking

  /// Closes the reading end of stdout or stderr.
  void closeOutput();
  void closeError();

  /// Sends a signal to the process; SIGKILL goes to its whole group.
  void send(int signal) const;

  /// Returns how the process ended, or nothing while it lives. What it left running in its
  /// group is killed first. Never blocks.
  std::optional<ProcessEnd> reap();

  /// Returns the scheduler's state letter of the process ('R', 'S', 'D', 'T', ...); 0 = gone.
  [[nodiscard]] char schedulerState() const;

 private:
  RankProcess() = default;

  pid_t pid_ = -1;
  int pidFd_ = -1;
  int outputFd_ = -1;
  int errorFd_ = -1;
};

}  // namespace lockstep::launch
