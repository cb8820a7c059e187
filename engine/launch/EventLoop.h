#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>

#include "engine/base/Result.h"

namespace lockstep::launch {

/// Waits for many descriptors at once (epoll) and calls back whoever has something to read.
/// One thread. Callbacks may add and remove descriptors, their own among them, and must
/// bear being called with nothing to read.
class EventLoop {
 public:
  static base::Result<EventLoop> create();
  EventLoop(EventLoop&& other) noexcept;
  EventLoop& operator=(EventLoop&&) = delete;
  ~EventLoop();

  /// Calls `readable` whenever `fd` can be read, has ended or has failed. Does not own `fd`;
  /// remove it before closing it.
  base::Status add(int fd, std::function<void()> readable);
  void remove(int fd);

  /// Sleeps until something happens or `deadline` has come, and dispatches it.
  void waitUntil(std::chrono::steady_clock::time_point deadline);

 private:
  explicit EventLoop(int fd) : fd_(fd) {}

  int fd_;
  std::unordered_map<int, std::shared_ptr<std::function<void()>>> callbacks_;
};

}  // namespace lockstep::launch
