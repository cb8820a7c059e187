#include "engine/plugin/detail/Child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

int millisecondsLeft(Clock::time_point end) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

/// Reads both pipes until they are closed or the time is over; returns whether they were closed.
bool readAll(std::array<Pipe*, 2> pipes, std::array<std::string*, 2> texts,
             Clock::time_point end) {
  std::array<pollfd, 2> waits{{{pipes[0]->readEnd, POLLIN, 0}, {pipes[1]->readEnd, POLLIN, 0}}};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    const int ready = poll(waits.data(), waits.size(), millisecondsLeft(end));
    if (ready == 0 || (ready < 0 && errno != EINTR)) {
      return false;
    }
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) {
        continue;
      }
      std::array<char, 4096> chunk{};
      const ssize_t count = read(waits[i].fd, chunk.data(), chunk.size());
      if (count > 0 && texts[i]->size() < kMostOutput) {
        texts[i]->append(chunk.data(), static_cast<std::size_t>(count));
      } else if (count == 0 || (count < 0 && errno != EINTR)) {
        waits[i].fd = -1;
      }
    }
  }
  return true;
}

/// Waits for the child, killing it when the time is over; returns its status.
int reap(pid_t pid, bool& timedOut, Clock::time_point end) {
  int status = 0;
  if (!timedOut) {
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    pollfd wait{handle, POLLIN, 0};
    timedOut = handle >= 0 && poll(&wait, 1, millisecondsLeft(end)) <= 0;
    if (handle >= 0) {
      close(handle);
    }
  }
  if (timedOut) {
    kill(pid, SIGKILL);
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
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
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int failed =
      posix_spawn(&pid, command.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    errno = failed;
    return base::systemError(base::ExitCode::kEnvironment, "cannot be started", command.front());
  }
  output.closeWriteEnd();
  errors.closeWriteEnd();
  const auto end = Clock::now() + timeLimit;
  ChildOutcome outcome;
  outcome.timedOut = !readAll({&output, &errors}, {&outcome.output, &outcome.errors}, end);
  const int status = reap(pid, outcome.timedOut, end);
  if (WIFSIGNALED(status)) {
    outcome.signal = WTERMSIG(status);
  } else {
    outcome.exitCode = WEXITSTATUS(status);
  }
  return outcome;
}

}  // namespace lockstep::plugin::detail
