#include "tests/support/ChildProcess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

// glibc 2.36 forgot the linkage of C++ in this header.
extern "C" {
#include <sys/pidfd.h>
}

#include "engine/base/Check.h"
#include "tests/support/ChildRole.h"

namespace lockstep::support {
namespace {

using Clock = std::chrono::steady_clock;

int remainingMs(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> mergedEnvironment(const SpawnOptions& options) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : options.environment) {
      replaced = replaced || text.starts_with(name + "=");
    }
    if (!replaced) {
      result.push_back(text);
    }
  }
  for (const auto& [name, value] : options.environment) {
    result.push_back(name + "=" + value);
  }
  return result;
}

/// "NAME S 120 ms" of each thread: its name, its state as proc(5) has it, its time on a core.
std::string threadsOf(pid_t pid) {
  std::vector<std::string> threads;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
    std::string stat;
    std::getline(std::ifstream(task.path() / "stat"), stat);
    const auto open = stat.find('(');
    const auto close = stat.rfind(')');
    if (close == std::string::npos) {
      continue;  // it has ended since
    }
    std::istringstream fields(stat.substr(close + 1));
    char state = '?';
    std::uint64_t userTicks = 0;
    std::uint64_t systemTicks = 0;
    fields >> state;
    std::string other;
    for (int field = 4; field < 14; ++field) {
      fields >> other;
    }
    fields >> userTicks >> systemTicks;
    threads.push_back(fmt::format(
        "{} {} {} ms", stat.substr(open + 1, close - open - 1), state,
        (userTicks + systemTicks) * 1000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK))));
  }
  return fmt::format("{}", fmt::join(threads, ", "));
}

void closeIfOpen(int fd) {
  if (fd >= 0) {
    close(fd);
  }
}

}  // namespace

ChildProcess::ChildProcess(const SpawnOptions& options) {
  std::array<int, 2> pipe{};
  errorsFd_ = memfd_create("child-stderr", MFD_CLOEXEC);
  if (errorsFd_ < 0 || pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "no pipes for " + options.program);
  }
  outputFd_ = pipe[0];
  fcntl(outputFd_, F_SETFL, O_NONBLOCK);

  std::vector<std::string> arguments{options.program};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = mergedEnvironment(options);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errorsFd_, STDERR_FILENO);
  const int error = posix_spawn(&pid_, options.program.c_str(), &actions, nullptr,
                                pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  if (error != 0) {
    close(outputFd_);
    close(errorsFd_);
    throw std::system_error(error, std::generic_category(), "cannot start " + options.program);
  }
  pidFd_ = pidfd_open(pid_, 0);
  LOCKSTEP_CHECK(pidFd_ >= 0, "pidfd_open of {}: errno {}", pid_, errno);
}

ChildProcess ChildProcess::self(const std::string& role, std::vector<std::string> arguments,
                                std::vector<std::pair<std::string, std::string>> environment) {
  LOCKSTEP_CHECK(knowsChildRoles(), "link lockstep_test_main to start the test binary as '{}'",
                 role);
  arguments.insert(arguments.begin(), childRoleArgument(role));
  return ChildProcess(SpawnOptions{"/proc/self/exe", std::move(arguments), std::move(environment)});
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidFd_(std::exchange(other.pidFd_, -1)),
      outputFd_(std::exchange(other.outputFd_, -1)),
      errorsFd_(std::exchange(other.errorsFd_, -1)),
      reaped_(other.reaped_),
      status_(other.status_),
      output_(std::move(other.output_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !reaped_) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  closeIfOpen(pidFd_);
  closeIfOpen(outputFd_);
  closeIfOpen(errorsFd_);
}

/// Takes output in until some came, the deadline, or (untilExit) the child's end.
ChildProcess::Stream ChildProcess::pump(Clock::time_point deadline, bool untilExit) {
  for (;;) {
    std::array<pollfd, 2> fds{{{outputFd_, POLLIN, 0}, {untilExit ? pidFd_ : -1, POLLIN, 0}}};
    const int ready = poll(fds.data(), fds.size(), remainingMs(deadline));
    if (ready < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    if (ready == 0) {
      return Stream::kTimeout;
    }
    std::array<char, 4096> chunk{};
    const ssize_t size = outputFd_ < 0 ? 0 : read(outputFd_, chunk.data(), chunk.size());
    if (size > 0) {
      output_.append(chunk.data(), static_cast<std::size_t>(size));
      return Stream::kData;
    }
    if (size == 0 && outputFd_ >= 0) {
      close(std::exchange(outputFd_, -1));
    }
    if (untilExit ? (fds[1].revents & POLLIN) != 0 : outputFd_ < 0) {
      return Stream::kClosed;
    }
  }
}

std::string ChildProcess::readLine(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (;;) {
    const auto end = output_.find('\n');
    if (end != std::string::npos) {
      std::string line = output_.substr(0, end);
      output_.erase(0, end + 1);
      return line;
    }
    const Stream stream = pump(deadline, false);
    if (stream != Stream::kData) {
      throw std::runtime_error("process " + std::to_string(pid_) +
                               (stream == Stream::kTimeout ? " printed no line in time"
                                                           : " ended before it printed a line") +
                               "; its stderr: " + errors());
    }
  }
}

void ChildProcess::kill(int signal) const {
  // Through the pidfd, so that a number used again is never hit.
  LOCKSTEP_CHECK(pidfd_send_signal(pidFd_, signal, nullptr, 0) == 0 || errno == ESRCH,
                 "signal {} to {}: errno {}", signal, pid_, errno);
}

ExitStatus ChildProcess::wait(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (!reaped_) {
    const Stream stream = pump(deadline, true);
    if (stream == Stream::kTimeout) {
      throw std::runtime_error("process " + std::to_string(pid_) +
                               " did not end in time; its stderr: " + errors());
    }
    if (stream == Stream::kClosed) {
      int status = 0;
      waitpid(pid_, &status, 0);
      takeStatus(status);
    }
  }
  return status_;
}

void ChildProcess::takeStatus(int status) {
  reaped_ = true;
  status_ = {WIFSIGNALED(status), WIFEXITED(status) ? WEXITSTATUS(status) : 0,
             WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

std::string ChildProcess::output() {
  return std::exchange(output_, {});
}

std::string ChildProcess::errors() const {
  struct stat info {};
  fstat(errorsFd_, &info);
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t size = pread(errorsFd_, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string ChildProcess::situation() {
  if (int status = 0; !reaped_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    takeStatus(status);
  }
  std::string text = reaped_
                         ? (status_.signalled ? fmt::format("ended by signal {}", status_.signal)
                                              : fmt::format("ended with code {}", status_.code))
                         : "runs, with the threads " + threadsOf(pid_);
  return fmt::format("process {} {}; its stderr: {}", pid_, text, errors());
}

std::vector<ChildProcess> spawnRanks(int worldSize, const SpawnOptions& options) {
  std::vector<ChildProcess> children;
  children.reserve(static_cast<std::size_t>(worldSize));
  for (int rank = 0; rank < worldSize; ++rank) {
    SpawnOptions own = options;
    own.environment.emplace_back("RANK", std::to_string(rank));
    own.environment.emplace_back("LOCAL_RANK", std::to_string(rank));
    own.environment.emplace_back("WORLD_SIZE", std::to_string(worldSize));
    children.emplace_back(own);
  }
  return children;
}

std::vector<ChildProcess> spawnSelfAsRanks(int worldSize, const std::string& role,
                                           const std::vector<std::string>& arguments) {
  LOCKSTEP_CHECK(knowsChildRoles(), "link lockstep_test_main to start the test binary as '{}'",
                 role);
  SpawnOptions options{"/proc/self/exe", arguments, {}};
  options.arguments.insert(options.arguments.begin(), childRoleArgument(role));
  return spawnRanks(worldSize, options);
}

}  // namespace lockstep::support
