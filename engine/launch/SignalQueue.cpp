#include "engine/launch/SignalQueue.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "engine/base/Try.h"

namespace lockstep::launch {
namespace {

bool hasNoTerminal() {
  struct sigaction hangUp {};
  // nohup. A blocked signal is put into the queue even where it is ignored.
  if (sigaction(SIGHUP, nullptr, &hangUp) == 0 && hangUp.sa_handler == SIG_IGN) {
    return true;
  }
  return !posix::Descriptor(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)).open();
}

sigset_t watchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) {
    sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

base::Result<std::unique_ptr<SignalQueue>> SignalQueue::create() {
  const sigset_t watched = watchedSignals();
  posix::Descriptor fd(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.open()) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot watch for signals", "");
  }
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &watched, &before);
  return std::unique_ptr<SignalQueue>(new SignalQueue(std::move(fd), before, hasNoTerminal()));
}

SignalQueue::~SignalQueue() {
  // One that is left would be delivered as soon as the mask is restored, and end this process.
  while (next()) {
  }
  pthread_sigmask(SIG_SETMASK, &maskBefore_, nullptr);
}

std::optional<int> SignalQueue::next() {
  signalfd_siginfo info;
  while (read(fd_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    const int signal = static_cast<int>(info.ssi_signo);
    const bool isErrorOfACall = signal == SIGPIPE || signal == SIGXFSZ;
    if (!isErrorOfACall && !(signal == SIGHUP && detached_)) {
      return signal;
    }
  }
  return std::nullopt;
}

base::Result<Watch> Watch::create() {
  auto loop = LOCKSTEP_TRY(posix::EventLoop::create());
  auto signals = LOCKSTEP_TRY(SignalQueue::create());
  return Watch{std::move(loop), std::move(signals)};
}

}  // namespace lockstep::launch
