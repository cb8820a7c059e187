#include "engine/store/detail/TcpWatcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/base/Check.h"
#include "engine/base/Log.h"
#include "engine/base/Thread.h"
#include "engine/store/detail/Errors.h"
#include "engine/store/detail/WatchQueue.h"
#include "engine/store/detail/Wire.h"

namespace lockstep::store::detail {

TcpWatcher::TcpWatcher(std::string place) : place_(std::move(place)) {
  if (!wake_.open()) {
    throw StoreError(fmt::format("{}: no descriptor left to watch keys with: {}; raise `ulimit -n`",
                                 place_, std::strerror(errno)));
  }
  thread_ = std::thread([this] { run(); });
}

TcpWatcher::~TcpWatcher() {
  LOCKSTEP_CHECK(std::this_thread::get_id() != thread_.get_id(),
                 "{}: a watching callback destroys the store that calls it", place_);
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.wake();
  thread_.join();
}

void TcpWatcher::watch(const std::string& key, Store::WatchCallback callback,
                       posix::Descriptor socket) {
  {
    std::lock_guard lock(mutex_);
    new_.push_back({key, std::move(callback), std::move(socket), {}});
  }
  wake_.wake();
}

bool TcpWatcher::ending() const {
  std::lock_guard lock(mutex_);
  return ending_;
}

void TcpWatcher::takeNewWatches() {
  wake_.clear();
  std::lock_guard lock(mutex_);
  std::move(new_.begin(), new_.end(), std::back_inserter(watches_));
  new_.clear();
}

void TcpWatcher::run() {
  base::nameThisThread("store-watch");
  while (!ending()) {
    std::vector<pollfd> ready{{wake_.fd(), POLLIN, 0}};
    for (const Watch& watch : watches_) {
      ready.push_back({watch.socket.get(), POLLIN, 0});
    }
    const int count = poll(ready.data(), ready.size(), -1);
    LOCKSTEP_CHECK(count >= 0 || errno == EINTR, "{}: poll: errno {}", place_, errno);
    // From the back, so that removing one leaves the places of those before it.
    for (std::size_t i = watches_.size(); count > 0 && i-- > 0;) {
      if (ready[i + 1].revents != 0 && !read(watches_[i])) {
        base::logWarning("{}: {} is no longer watched: the server has ended or dropped the watch",
                         place_, quoted({watches_[i].key}));
        watches_.erase(watches_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    // At the end of a round: `ready` and `watches_` must have the same places until then.
    takeNewWatches();
  }
}

/// Reads what has come and tells of it; says whether the watch goes on.
bool TcpWatcher::read(Watch& watch) {
  std::array<char, 65536> chunk{};
  const ssize_t size = recv(watch.socket.get(), chunk.data(), chunk.size(), 0);
  if (size < 0) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  }
  watch.input.append(chunk.data(), static_cast<std::size_t>(size));
  return size > 0 && tellAll(watch);
}

/// Tells of the changes whose notices are complete; says whether they can be read.
bool TcpWatcher::tellAll(Watch& watch) {
  base::ByteReader reader(watch.input);
  std::size_t taken = 0;
  bool sound = true;
  // The destructor waits for this thread: no further callback begins once it has said so
  // (ending()).
  while (const auto size = reader.take<std::uint32_t>()) {
    sound = *size > 0 && *size <= kLongestNotice;
    const auto content = sound ? reader.bytes(*size) : std::nullopt;
    if (!content || ending()) {
      break;
    }
    base::ByteReader notice(*content);
    const auto status = notice.take<std::uint8_t>();
    const auto which = notice.take<std::uint8_t>();
    auto before = notice.text(kLongestValue);
    auto after = notice.text(kLongestValue);
    sound = status == static_cast<std::uint8_t>(Reply::kChanged) && which && before && after &&
            notice.atEnd();
    if (!sound) {
      break;
    }
    tellOfChange(place_, watch.key, watch.callback, (*which & 1) != 0 ? before : std::nullopt,
                 (*which & 2) != 0 ? after : std::nullopt);
    taken += 4 + *size;
  }
  watch.input.erase(0, taken);
  return sound;
}

}  // namespace lockstep::store::detail
