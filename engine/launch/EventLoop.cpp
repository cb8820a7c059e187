#include "engine/launch/EventLoop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace lockstep::launch {

base::Result<EventLoop> EventLoop::create() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot create an event loop", "");
  }
  return EventLoop(fd);
}

EventLoop::EventLoop(EventLoop&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), callbacks_(std::move(other.callbacks_)) {}

EventLoop::~EventLoop() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

base::Status EventLoop::add(int fd, std::function<void()> readable) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot watch a descriptor", "");
  }
  callbacks_[fd] = std::make_shared<std::function<void()>>(std::move(readable));
  return {};
}

void EventLoop::remove(int fd) {
  if (callbacks_.erase(fd) != 0) {
    epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr);
  }
}

void EventLoop::waitUntil(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  // A day at most, so that a far deadline cannot overflow.
  const auto timeoutMs = std::clamp<std::int64_t>(left.count(), 0, 86'400'000);
  std::array<epoll_event, 32> events;
  const int count =
      epoll_wait(fd_, events.data(), static_cast<int>(events.size()), static_cast<int>(timeoutMs));
  LOCKSTEP_CHECK(count >= 0 || errno == EINTR, "epoll_wait failed with errno {}", errno);
  for (int i = 0; i < count; ++i) {
    const auto found = callbacks_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found != callbacks_.end()) {
      // Kept alive while it runs, since it may remove itself.
      const auto callback = found->second;
      (*callback)();
    }
  }
}

}  // namespace lockstep::launch
