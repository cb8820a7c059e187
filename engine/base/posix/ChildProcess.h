#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/base/posix/Descriptor.h"

namespace lockstep::posix {

/// How a process ended: by `signal`, or with `exitCode` when signal is 0.
struct ProcessEnd {
  int exitCode = 0;
  int signal = 0;
};

/// Returns a descriptor that is readable once the process has ended; not open when there is no such
/// process, and errno says why.
Descriptor watchProcess(pid_t pid);

/// Returns the scheduler's state letter of any process; 0 = gone.
char schedulerState(std::int64_t pid);
/// The same, of its /proc/PID/stat, which may have been opened while the process lived.
char schedulerState(std::istream& stat);

/// A direct child of this process, in a process group of its own, so that a terminal's Ctrl-C
/// reaches the parent alone. stdin is /dev/null, stdout and stderr are pipes, and every descriptor
/// but those named is closed. One thread; spawn from the main thread where the child asks for the
/// kernel's parent-death signal, which follows the thread that spawned.
class ChildProcess {
 public:
  struct Options {
    std::string who;                       ///< opens error texts: "rank 1"
    std::filesystem::path program;         ///< without a slash: looked for in PATH
    std::vector<std::string> arguments;    ///< after the program's name
    std::vector<std::string> environment;  ///< "KEY=value"
    /// What the child finds open from descriptor 3 on, in this order; they stay the caller's.
    std::vector<int> descriptors{};
  };

  /// Error (kEnvironment): it cannot be started; errno says why, too.
  static base::Result<ChildProcess> spawn(const Options& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  /// Kills and reaps a process that is still there.
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidFd() const { return ended_.get(); }      ///< readable once it has ended
  [[nodiscard]] int outputFd() const { return output_.get(); }  ///< stdout, non-blocking
  [[nodiscard]] int errorFd() const { return errors_.get(); }   ///< stderr, non-blocking

  /// Closes the reading end of stdout or stderr.
  void closeOutput() { output_.reset(); }
  void closeError() { errors_.reset(); }

  /// Sends a signal to the process; SIGKILL goes to its whole group.
  void send(int signal) const;

  /// Returns how the process ended, or nothing while it lives. What it left running in its
  /// group is killed first. Never blocks.
  std::optional<ProcessEnd> reap();

  /// Returns the scheduler's state letter of the process ('R', 'S', 'D', 'T', ...); 0 = gone.
  [[nodiscard]] char schedulerState() const { return posix::schedulerState(pid_); }

 private:
  ChildProcess() = default;

  pid_t pid_ = -1;
  Descriptor ended_;
  Descriptor output_;
  Descriptor errors_;
};

}  // namespace lockstep::posix
