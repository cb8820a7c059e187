#include "engine/base/posix/EventLoop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "engine/base/Check.h"

namespace lockstep::posix {

base::Result<EventLoop> EventLoop::create() {
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.open()) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot create an event loop", "");
  }
  return EventLoop(std::move(epoll));
}

base::Status EventLoop::add(int fd, std::function<void()> readable) {
  return add(fd, EPOLLIN, [readable = std::move(readable)](std::uint32_t) { readable(); });
}

base::Status EventLoop::add(int fd, std::uint32_t interest, Callback happened) {
  epoll_event event{};
  event.events = interest;
  // An id and not the descriptor: one that is closed and opened anew within a round of events has
  // the same number, and would get the old one's events.
  event.data.u64 = nextId_;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot watch a descriptor", "");
  }
  ids_[fd] = nextId_;
  callbacks_[nextId_++] = std::make_shared<Callback>(std::move(happened));
  return {};
}

void EventLoop::setInterest(int fd, std::uint32_t interest) {
  epoll_event event{};
  event.events = interest;
  event.data.u64 = ids_.at(fd);
  const int result = epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  LOCKSTEP_CHECK(result == 0, "epoll_ctl of descriptor {}: errno {}", fd, errno);
}

void EventLoop::remove(int fd) {
  if (const auto found = ids_.find(fd); found != ids_.end()) {
    callbacks_.erase(found->second);
    ids_.erase(found);
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }
}

void EventLoop::waitUntil(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  // A day at most, so that a far deadline cannot overflow.
  const auto timeoutMs = std::clamp<std::int64_t>(left.count(), 0, 86'400'000);
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               static_cast<int>(timeoutMs));
  LOCKSTEP_CHECK(count >= 0 || errno == EINTR, "epoll_wait failed with errno {}", errno);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (const auto found = callbacks_.find(event.data.u64); found != callbacks_.end()) {
      // Kept alive while it runs, since it may remove itself.
      const auto callback = found->second;
      (*callback)(event.events);
    }
  }
}

}  // namespace lockstep::posix
