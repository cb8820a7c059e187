#pragma once

#include <sys/types.h>

#include <string>

namespace lockstep::tests {

/// An X server of this process's own (Xvfb), so that no other test's window or pointer is in
/// the way. Sets DISPLAY and QT_QPA_PLATFORM; ends with the object.
class XServer {
 public:
  /// Throws std::runtime_error when Xvfb is missing or does not come up within 20 s.
  XServer(int width, int height);
  ~XServer();
  XServer(const XServer&) = delete;
  XServer& operator=(const XServer&) = delete;

  [[nodiscard]] const std::string& display() const { return display_; }

 private:
  pid_t pid_ = -1;
  std::string display_;
};

}  // namespace lockstep::tests
