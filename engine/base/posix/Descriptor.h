#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace lockstep::posix {

/// Owns an open file of this process: closes it at its end. A call that failed gives one that is
/// not open, and errno says why.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    const int taken = other.release();
    reset();
    fd_ = taken;
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }  ///< negative: not open
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

  /// Closes it. errno stays, so that what failed before can still be reported.
  void reset() {
    if (fd_ >= 0) {
      const int before = errno;
      ::close(release());
      errno = before;
    }
  }

 private:
  int fd_ = -1;
};

}  // namespace lockstep::posix
