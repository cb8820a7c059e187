#pragma once

#include <signal.h>

#include <memory>
#include <optional>
#include <utility>

#include "engine/base/Result.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/base/posix/EventLoop.h"

namespace lockstep::launch {

/// Turns SIGINT, SIGTERM and SIGHUP of this process into something to read, while it lives.
/// Make it before any thread is started: threads inherit the blocked signals, and a thread
/// that does not block them would die of them. SIGPIPE and SIGXFSZ are blocked too: the call
/// that raised one returns its error.
class SignalQueue {
 public:
  static base::Result<std::unique_ptr<SignalQueue>> create();
  /// Forgets signals that nobody read and restores the mask of before.
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }

  /// Returns the next signal, or nothing when none waits. Never blocks. A SIGHUP to a process
  /// without a terminal, or started with SIGHUP ignored (nohup), is passed over.
  std::optional<int> next();

 private:
  SignalQueue(posix::Descriptor fd, const sigset_t& maskBefore, bool detached)
      : fd_(std::move(fd)), maskBefore_(maskBefore), detached_(detached) {}

  posix::Descriptor fd_;
  sigset_t maskBefore_;
  bool detached_;
};

/// What a process that leads or watches others waits with.
struct Watch {
  posix::EventLoop loop;
  std::unique_ptr<SignalQueue> signals;

  /// From here on every thread that starts has the signals blocked.
  static base::Result<Watch> create();
};

}  // namespace lockstep::launch
