#include "engine/launch/detail/WatchedChild.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "engine/base/Try.h"

namespace lockstep::launch::detail {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr int kMostLastReads = 64;

}  // namespace

base::Result<std::unique_ptr<WatchedChild>> WatchedChild::start(
    posix::EventLoop& loop, const posix::ChildProcess::Options& options, Hears hears) {
  auto process = LOCKSTEP_TRY(posix::ChildProcess::spawn(options));
  std::unique_ptr<WatchedChild> child(new WatchedChild(loop, std::move(process), std::move(hears)));
  const std::array<std::pair<int, std::function<void()>>, 3> watched{{
      {child->process_.outputFd(), [raw = child.get()] { raw->read(false); }},
      {child->process_.errorFd(), [raw = child.get()] { raw->read(true); }},
      {child->process_.pidFd(), [raw = child.get()] { raw->mayHaveEnded(); }},
  }};
  for (const auto& [fd, callback] : watched) {
    LOCKSTEP_TRY(loop.add(fd, callback));
  }
  return child;
}

WatchedChild::WatchedChild(posix::EventLoop& loop, posix::ChildProcess process, Hears hears)
    : loop_(loop), process_(std::move(process)), hears_(std::move(hears)) {}

WatchedChild::~WatchedChild() {
  for (const int fd : {process_.outputFd(), process_.errorFd(), process_.pidFd()}) {
    loop_.remove(fd);
  }
}

void WatchedChild::read(bool isError) {
  const int fd = isError ? process_.errorFd() : process_.outputFd();
  if (fd < 0) {
    return;
  }
  std::array<char, kReadBytes> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    hears_.wrote(isError, {buffer.data(), static_cast<std::size_t>(count)});
  // The end of the pipe. The process may live on, having closed its output.
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    loop_.remove(fd);
    isError ? process_.closeError() : process_.closeOutput();
  }
}

void WatchedChild::mayHaveEnded() {
  const auto end = process_.reap();
  if (!end) {
    return;
  }
  // All that it wrote is in the pipes now. A descendant that left the group may hold them open
  // and write on, hence the bound.
  for (const bool isError : {false, true}) {
    for (int reads = 0; reads < kMostLastReads; ++reads) {
      read(isError);
    }
  }
  loop_.remove(process_.pidFd());
  const auto ended = std::move(hears_.ended);
  ended(*end);  // may be the end of this object, too
}

}  // namespace lockstep::launch::detail
