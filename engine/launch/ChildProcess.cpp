#include "engine/launch/ChildProcess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <utility>

namespace lockstep::launch {
namespace {

using base::ExitCode;
using base::systemError;

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) {
      close(std::exchange(fd_, -1));
    }
  }

 private:
  int fd_;
};

// Descriptors to be placed in the child are kept above those numbers, so that placing one
// never overwrites the next.
constexpr int kAboveFixed = 10;

Descriptor duplicateAbove(int fd) { return Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, kAboveFixed)); }

struct Pipe {
  Descriptor readEnd;
  Descriptor writeEnd;
};

base::Result<Pipe> makePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return systemError(ExitCode::kEnvironment, "cannot make a pipe for its output", "");
  }
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  fcntl(pipe.readEnd.get(), F_SETFL, O_NONBLOCK);
  Descriptor above = duplicateAbove(pipe.writeEnd.get());
  if (above.get() < 0) {
    return systemError(ExitCode::kEnvironment, "cannot make a pipe for its output", "");
  }
  pipe.writeEnd = std::move(above);
  return pipe;
}

/// What posix_spawn needs, freed at the end.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) {
    result.push_back(const_cast<char*>(text.c_str()));
  }
  result.push_back(nullptr);
  return result;
}

}  // namespace

base::Result<ChildProcess> ChildProcess::spawn(const Options& options) {
  const std::string& who = options.who;
  auto output = makePipe();
  if (!output.ok()) {
    return output.error().within(who);
  }
  auto error = makePipe();
  if (!error.ok()) {
    return error.error().within(who);
  }
  std::vector<Descriptor> handed;
  for (const int fd : options.descriptors) {
    handed.push_back(duplicateAbove(fd));
    if (handed.back().get() < 0) {
      return systemError(ExitCode::kEnvironment, "cannot hand over a descriptor", who);
    }
  }

  SpawnPlan plan;
  posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, output.value().writeEnd.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&plan.actions, error.value().writeEnd.get(), STDERR_FILENO);
  int next = STDERR_FILENO + 1;
  for (const Descriptor& descriptor : handed) {
    posix_spawn_file_actions_adddup2(&plan.actions, descriptor.get(), next++);
  }
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, next);

  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                 POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);

  std::vector<std::string> arguments{options.program.string()};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  ChildProcess process;
  const int failure =
      posix_spawnp(&process.pid_, options.program.c_str(), &plan.actions, &plan.attributes,
                   pointers(arguments).data(), pointers(options.environment).data());
  if (failure != 0) {
    process.pid_ = -1;
    errno = failure;
    return systemError(ExitCode::kEnvironment, "cannot start " + options.program.string(), who);
  }
  process.outputFd_ = output.value().readEnd.release();
  process.errorFd_ = error.value().readEnd.release();
  // The C library of Debian 12 declares its own wrapper in a way that C++ cannot link.
  process.pidFd_ = static_cast<int>(syscall(SYS_pidfd_open, process.pid_, 0));
  if (process.pidFd_ < 0) {
    return systemError(ExitCode::kEnvironment, "cannot watch the process", who);
  }
  return process;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidFd_(std::exchange(other.pidFd_, -1)),
      outputFd_(std::exchange(other.outputFd_, -1)),
      errorFd_(std::exchange(other.errorFd_, -1)) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    // Bounded: a process stuck in the kernel does not die before it comes back from there.
    pollfd ended{pidFd_, POLLIN, 0};
    if (pidFd_ >= 0) {
      poll(&ended, 1, 1000);
    }
    waitpid(pid_, nullptr, WNOHANG);
  }
  if (pidFd_ >= 0) {
    close(pidFd_);
  }
  closeOutput();
  closeError();
}

void ChildProcess::closeOutput() {
  if (outputFd_ >= 0) {
    close(std::exchange(outputFd_, -1));
  }
}

void ChildProcess::closeError() {
  if (errorFd_ >= 0) {
    close(std::exchange(errorFd_, -1));
  }
}

void ChildProcess::send(int signal) const {
  // The pid cannot have been reused: until reap() has seen the end, it is at least a zombie.
  if (pid_ > 0) {
    kill(signal == SIGKILL ? -pid_ : pid_, signal);
  }
}

std::optional<ProcessEnd> ChildProcess::reap() {
  if (pid_ <= 0) {
    return std::nullopt;
  }
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  // The zombie still holds the number of its group.
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  if (info.si_code == CLD_EXITED) {
    return ProcessEnd{info.si_status, 0};
  }
  return ProcessEnd{0, info.si_status};
}

char ChildProcess::schedulerState() const {
  std::ifstream file(fmt::format("/proc/{}/stat", pid_));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // "pid (name) state ...", and a name may hold brackets and blanks.
  const std::size_t bracket = text.rfind(')');
  return bracket != std::string::npos && bracket + 2 < text.size() ? text[bracket + 2] : '\0';
}

}  // namespace lockstep::launch
