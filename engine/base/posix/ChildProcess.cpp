#include "engine/base/posix/ChildProcess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <utility>

#include "engine/base/posix/Spawn.h"

namespace lockstep::posix {
namespace {

using base::ExitCode;
using base::systemError;

struct Pipe {
  Descriptor readEnd;  // non-blocking
  Descriptor writeEnd;
};

Pipe makePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {};
  }
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  fcntl(pipe.readEnd.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

}  // namespace

Descriptor watchProcess(pid_t pid) {
  // The C library of Debian 12 declares its own wrapper in a way that C++ cannot link.
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

base::Result<ChildProcess> ChildProcess::spawn(const Options& options) {
  Pipe output = makePipe();
  Pipe errors = makePipe();
  if (!output.readEnd.open() || !errors.readEnd.open()) {
    return systemError(ExitCode::kEnvironment, "cannot make a pipe for its output", options.who);
  }
  ChildProcess process;
  process.pid_ = posix::spawn({options.program, options.arguments, options.environment,
                               output.writeEnd.get(), errors.writeEnd.get(), options.descriptors});
  if (process.pid_ < 0) {
    return systemError(ExitCode::kEnvironment, "cannot start " + options.program.string(),
                       options.who);
  }
  // The writing ends are closed when this returns: only the child holds them then, so that the
  // pipes end with it.
  process.output_ = std::move(output.readEnd);
  process.errors_ = std::move(errors.readEnd);
  process.ended_ = watchProcess(process.pid_);
  if (!process.ended_.open()) {
    return systemError(ExitCode::kEnvironment, "cannot watch the process", options.who);
  }
  return process;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ended_(std::move(other.ended_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    // The whole group: what the process has started goes with it.
    kill(-pid_, SIGKILL);
    // Bounded: a process stuck in the kernel does not die before it comes back from there.
    pollfd ended{ended_.get(), POLLIN, 0};
    if (ended_.open()) {
      poll(&ended, 1, 1000);
    }
    waitpid(pid_, nullptr, WNOHANG);
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
  // Looks at the end and leaves the zombie, whose number cannot be given to others.
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

char schedulerState(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  return schedulerState(file);
}

char schedulerState(std::istream& stat) {
  // By getline(): a process that ends before it is read is an error, which an iterator would throw.
  std::string text;
  std::getline(stat, text);
  // "pid (name) state ...", and a name may hold brackets and blanks.
  const std::size_t bracket = text.rfind(')');
  return bracket != std::string::npos && bracket + 2 < text.size() ? text[bracket + 2] : '\0';
}

}  // namespace lockstep::posix
