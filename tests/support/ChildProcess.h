#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::support {

/// How a process ended.
struct ExitStatus {
  bool signalled = false;
  int code = 0;    ///< exit code when not signalled
  int signal = 0;  ///< signal that ended it

  bool operator==(const ExitStatus&) const = default;
};

struct SpawnOptions {
  std::string program;                                           ///< a path
  std::vector<std::string> arguments;                            ///< without the program itself
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
};

/// A child process with its output kept; killed at the end when it still runs. One thread.
class ChildProcess {
 public:
  static constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(30);

  /// Starts a program; throws std::system_error when it cannot be started.
  explicit ChildProcess(const SpawnOptions& options);

  /// Starts this very binary in a role (ChildRole.h).
  static ChildProcess self(const std::string& role, std::vector<std::string> arguments = {},
                           std::vector<std::pair<std::string, std::string>> environment = {});

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Waits for the next line the child prints, and returns it without its end; throws
  /// std::runtime_error, with the child's stderr, when it ends or is silent for too long.
  std::string readLine(std::chrono::milliseconds patience = kPatience);

  void kill(int signal) const;

  /// Waits for the end; throws std::runtime_error when it does not come in time.
  ExitStatus wait(std::chrono::milliseconds patience = kPatience);

  /// Returns what the child printed so far and no readLine has taken; all of it after wait().
  std::string output();
  /// Returns what stands on its stderr so far.
  std::string errors() const;

  /// Says how it stands, for the message of a test that waited in vain: how it ended or, while it
  /// runs, what each of its threads does and how long it has computed; then what stands on stderr.
  std::string situation();

 private:
  enum class Stream { kData, kClosed, kTimeout };
  Stream pump(std::chrono::steady_clock::time_point deadline, bool untilExit);
  void takeStatus(int status);

  pid_t pid_ = -1;
  int pidFd_ = -1;
  int outputFd_ = -1;
  int errorsFd_ = -1;
  bool reaped_ = false;
  ExitStatus status_;
  std::string output_;
};

/// Starts `worldSize` children with RANK, LOCAL_RANK and WORLD_SIZE in their environment.
std::vector<ChildProcess> spawnRanks(int worldSize, const SpawnOptions& options);

/// The same with this very binary in a role.
std::vector<ChildProcess> spawnSelfAsRanks(int worldSize, const std::string& role,
                                           const std::vector<std::string>& arguments = {});

}  // namespace lockstep::support
