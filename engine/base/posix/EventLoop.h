#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "engine/base/Result.h"
#include "engine/base/posix/Descriptor.h"

namespace lockstep::posix {

/// Waits for many descriptors at once (epoll) and calls back whoever has something to do. One
/// thread. Callbacks may add and remove descriptors, their own among them. A descriptor that takes
/// the number of one that was removed is not called for what happened to that one.
class EventLoop {
 public:
  /// Error (kEnvironment): no descriptor is left; errno says so, too.
  static base::Result<EventLoop> create();

  /// Calls `readable` whenever `fd` can be read, has ended or has failed, even if that is no longer
  /// so when its turn comes. Does not own `fd`; remove it before closing it.
  base::Status add(int fd, std::function<void()> readable);
  /// The same for what epoll_ctl calls `interest`; `happened` is given what it calls events.
  base::Status add(int fd, std::uint32_t interest, std::function<void(std::uint32_t)> happened);
  /// Waits for something else of a descriptor from now on.
  void setInterest(int fd, std::uint32_t interest);
  void remove(int fd);

  /// Sleeps until something happens or `deadline` has come, and dispatches it.
  void waitUntil(std::chrono::steady_clock::time_point deadline);

 private:
  using Callback = std::function<void(std::uint32_t)>;

  explicit EventLoop(Descriptor epoll) : epoll_(std::move(epoll)) {}

  Descriptor epoll_;
  std::uint64_t nextId_ = 0;
  std::unordered_map<int, std::uint64_t> ids_;  // by descriptor
  std::unordered_map<std::uint64_t, std::shared_ptr<Callback>> callbacks_;
};

}  // namespace lockstep::posix
