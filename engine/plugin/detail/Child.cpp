#include "engine/plugin/detail/Child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

extern char** environ;

namespace lockstep::plugin::detail {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 1 << 20;

struct Pipe {
  int readEnd = -1;
  int writeEnd = -1;
  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return false;
    }
    readEnd = ends[0];
    writeEnd = ends[1];
    return true;
  }
  void closeWriteEnd() {
    if (writeEnd >= 0) {
      close(std::exchange(writeEnd, -1));
    }
  }
  ~Pipe() {
    closeWriteEnd();
    if (readEnd >= 0) {
      close(readEnd);
    }
  }
};

/// What is seen of a child now and then: it does not say when it is stopped.
constexpr std::chrono::milliseconds kLookEvery{200};

int millisecondsLeft(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), kLookEvery).count());
}

/// Takes what a pipe holds; returns whether more may come. What exceeds a megabyte is dropped.
bool readPipe(int pipe, std::string& text) {
  std::array<char, 65536> chunk{};
  const ssize_t count = read(pipe, chunk.data(), chunk.size());
  if (count > 0 && text.size() < kMostOutput) {
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

/// The signal that has stopped the child; 0: it is not stopped.
int stopSignal(pid_t pid) {
  siginfo_t state{};
  const bool stopped =
      waitid(P_PID, static_cast<id_t>(pid), &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
      state.si_pid == pid && state.si_code == CLD_STOPPED;
  return stopped ? state.si_status : 0;
}

/// Reads what the child writes until it has ended, is stopped, or the time is over. A process that
/// it left behind may hold the pipes open, and is not waited for.
void watchChild(pid_t pid, int handle, const Pipe& output, const Pipe& errors,
                Clock::time_point end, ChildOutcome& outcome) {
  std::array<pollfd, 3> waits{
      {{output.readEnd, POLLIN, 0}, {errors.readEnd, POLLIN, 0}, {handle, POLLIN, 0}}};
  const std::array<std::string*, 2> texts{&outcome.output, &outcome.errors};
  const auto readBoth = [&] {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (waits[i].fd >= 0 && waits[i].revents != 0 && !readPipe(waits[i].fd, *texts[i])) {
        waits[i].fd = -1;
      }
    }
  };
  while (true) {
    const int ready = poll(waits.data(), waits.size(), millisecondsLeft(end));
    if (ready > 0) {
      readBoth();
    }
    if (ready > 0 && waits[2].revents != 0) {
      break;
    }
    if (outcome.stoppedBy = stopSignal(pid); outcome.stoppedBy != 0) {
      return;
    }
    if (Clock::now() >= end) {
      outcome.timedOut = true;
      return;
    }
  }
  // All that it wrote is in the pipes now.
  for (int reads = 0; reads < 64 && poll(waits.data(), 2, 0) > 0; ++reads) {
    readBoth();
  }
}

}  // namespace

std::string lastLine(const std::string& text) {
  const auto end = text.find_last_not_of('\n');
  if (end == std::string::npos) {
    return "";
  }
  const auto before = text.find_last_of('\n', end);
  const auto begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end + 1 - begin);
}

base::Result<ChildOutcome> runChild(const std::vector<std::string>& command,
                                    std::chrono::milliseconds timeLimit) {
  Pipe output;
  Pipe errors;
  if (!output.open() || !errors.open()) {
    return base::systemError(base::ExitCode::kEnvironment, "no pipe", command.front());
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.writeEnd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.writeEnd, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // 0: one of its own
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int failed =
      posix_spawnp(&pid, command.front().c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    errno = failed;
    return base::systemError(base::ExitCode::kEnvironment, "cannot be started", command.front());
  }
  output.closeWriteEnd();
  errors.closeWriteEnd();
  ChildOutcome outcome;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  const base::Error unwatched =
      base::systemError(base::ExitCode::kEnvironment, "cannot be watched", command.front());
  if (handle >= 0) {
    watchChild(pid, handle, output, errors, Clock::now() + timeLimit, outcome);
    close(handle);
  }
  // Until the child is reaped its number, and so that of the group, is nobody else's.
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (handle < 0) {
    return unwatched;
  }
  if (WIFSIGNALED(status)) {
    outcome.signal = WTERMSIG(status);
  } else {
    outcome.exitCode = WEXITSTATUS(status);
  }
  return outcome;
}

}  // namespace lockstep::plugin::detail
