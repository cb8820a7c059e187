#include "engine/plugin/detail/Child.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/base/Environment.h"
#include "engine/base/posix/ChildProcess.h"

namespace lockstep::plugin::detail {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 1 << 20;

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
  // Read also when the text is full: a child that waits for room in a pipe would never end.
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

/// The signal that has stopped the child; 0: it is not stopped.
int stopSignal(pid_t pid) {
  siginfo_t state{};
  const bool stopped =
      // Left as it is (WNOWAIT), for reap() to find.
      waitid(P_PID, static_cast<id_t>(pid), &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
      state.si_pid == pid && state.si_code == CLD_STOPPED;
  return stopped ? state.si_status : 0;
}

/// Reads what the child writes until it has ended, is stopped, or the time is over. A process that
/// it left behind may hold the pipes open, and is not waited for.
void watchChild(const posix::ChildProcess& child, Clock::time_point end, ChildOutcome& outcome) {
  std::array<pollfd, 3> waits{
      {{child.outputFd(), POLLIN, 0}, {child.errorFd(), POLLIN, 0}, {child.pidFd(), POLLIN, 0}}};
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
    if (outcome.stoppedBy = stopSignal(child.pid()); outcome.stoppedBy != 0) {
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

std::string ChildOutcome::crashText(const std::string& when) const {
  return fmt::format("it crashed{} ({}: {})", when, sigabbrev_np(signal), sigdescr_np(signal));
}

std::string ChildOutcome::stopText() const {
  return fmt::format("it stopped its process (SIG{})", sigabbrev_np(stoppedBy));
}

base::Result<ChildOutcome> runChild(const std::vector<std::string>& command,
                                    std::chrono::milliseconds timeLimit) {
  auto started = posix::ChildProcess::spawn({command.front(),
                                             command.front(),
                                             {command.begin() + 1, command.end()},
                                             base::inheritedEnvironment()});
  if (!started.ok()) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot be started", command.front());
  }
  posix::ChildProcess& child = started.value();
  ChildOutcome outcome;
  watchChild(child, Clock::now() + timeLimit, outcome);
  // Also one that has ended: what it left behind in its group goes with it.
  child.send(SIGKILL);
  std::optional<posix::ProcessEnd> end;
  while (!(end = child.reap())) {
    pollfd ended{child.pidFd(), POLLIN, 0};
    poll(&ended, 1, -1);
  }
  outcome.signal = end->signal;
  outcome.exitCode = end->exitCode;
  return outcome;
}

}  // namespace lockstep::plugin::detail
