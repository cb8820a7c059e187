#pragma once

#include <sys/eventfd.h>

#include <cerrno>

#include "engine/base/Check.h"
#include "engine/base/posix/Descriptor.h"

namespace lockstep::posix {

/// Wakes a thread that waits in poll or epoll for fd() to be readable. [any-thread]
class WakeUp {
 public:
  /// Where no descriptor is left, open() is false and errno says why.
  WakeUp() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  [[nodiscard]] bool open() const { return event_.open(); }
  [[nodiscard]] int fd() const { return event_.get(); }

  /// Makes fd() readable; may be called in a signal handler. Nothing where it is not open.
  void wake() const {
    const int result = eventfd_write(event_.get(), 1);
    LOCKSTEP_CHECK(result == 0 || errno == EAGAIN || !open(), "cannot wake a thread: errno {}",
                   errno);
  }
  /// Makes fd() unreadable again.
  void clear() const {
    eventfd_t count = 0;
    static_cast<void>(eventfd_read(event_.get(), &count));
  }

 private:
  Descriptor event_;
};

}  // namespace lockstep::posix
