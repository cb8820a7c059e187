#include "engine/store/detail/TcpServer.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "engine/base/Check.h"
#include "engine/base/Thread.h"

namespace lockstep::store::detail {
namespace {

constexpr std::uint64_t kListenerId = 0;
constexpr std::uint64_t kWakeId = 1;

void watch(int epoll, int fd, std::uint64_t id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  const int result = epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  LOCKSTEP_CHECK(result == 0, "epoll_ctl of descriptor {}: errno {}", fd, errno);
}

std::string numberField(std::int64_t number) {
  std::string fields;
  WireWriter(fields).i64(number);
  return fields;
}

std::string textField(std::string_view text) {
  std::string fields;
  WireWriter(fields).text(text);
  return fields;
}

}  // namespace

TcpServer::TcpServer(const std::string& host, std::uint16_t port)
    : listener_(listenOn(host, port)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  LOCKSTEP_CHECK(epoll_.open() && wake_.open(), "no descriptors for the store: errno {}", errno);
  watch(epoll_.get(), listener_.socket.get(), kListenerId, EPOLLIN);
  watch(epoll_.get(), wake_.get(), kWakeId, EPOLLIN);
  thread_ = std::thread([this] { serve(); });
}

TcpServer::~TcpServer() {
  const std::uint64_t one = 1;
  const ssize_t written = write(wake_.get(), &one, sizeof(one));
  LOCKSTEP_CHECK(written == sizeof(one), "the store's server cannot be woken: errno {}", errno);
  thread_.join();
}

int TcpServer::epollTimeoutMs() const {
  const auto next = waiters_.nextDeadline();
  if (!next) {
    return -1;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Deadline::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void TcpServer::serve() {
  base::nameThisThread("store-server");
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), epollTimeoutMs());
    LOCKSTEP_CHECK(count >= 0 || errno == EINTR, "epoll_wait: errno {}", errno);
    for (int i = 0; i < count; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == kWakeId) {
        return;
      }
      if (event.data.u64 == kListenerId) {
        acceptAll();
      } else {
        handle(event.data.u64, event.events);
      }
    }
    for (auto& [id, waiter] : waiters_.expired(Deadline::Clock::now())) {
      replyLate(connections_.at(id), waiter);
      answered_.push_back(id);
    }
    // Sending may find a connection dead; here nobody holds a reference to one.
    for (const Id id : std::exchange(answered_, {})) {
      const auto found = connections_.find(id);
      if (found != connections_.end() && !flush(id, found->second)) {
        drop(id);
      }
    }
  }
}

void TcpServer::acceptAll() {
  for (;;) {
    Descriptor socket(
        accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) {
      if (errno == EINTR || errno == ECONNABORTED) {
        continue;
      }
      if ((errno == EMFILE || errno == ENFILE) && spare_.open()) {
        // The client is turned away at once; left in the queue it would wake us for ever.
        spare_.reset();
        Descriptor(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
        spare_ = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
        continue;
      }
      return;
    }
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    const Id id = nextId_++;
    Connection& connection = connections_[id];
    connection.socket = std::move(socket);
    connection.interest = EPOLLIN | EPOLLRDHUP;
    watch(epoll_.get(), connection.socket.get(), id, connection.interest);
  }
}

void TcpServer::handle(Id id, std::uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) {
    return;
  }
  Connection& connection = found->second;
  bool alive = (events & (EPOLLERR | EPOLLHUP)) == 0;
  if (alive && (events & EPOLLOUT) != 0) {
    alive = flush(id, connection) && advance(id, connection);
  }
  if (alive && (events & (EPOLLIN | EPOLLRDHUP)) != 0) {
    // While a request waits nothing more may come: what can be read then is the client's end.
    alive = !connection.waiting && readInput(connection) && advance(id, connection);
  }
  if (!alive) {
    drop(id);
  }
}

/// Takes in what has come; says whether the connection may stay.
bool TcpServer::readInput(Connection& connection) {
  std::array<char, 65536> chunk{};
  const ssize_t size = recv(connection.socket.get(), chunk.data(), chunk.size(), 0);
  if (size < 0) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  }
  connection.input.append(chunk.data(), static_cast<std::size_t>(size));
  return size > 0;
}

/// Answers the requests that are complete, one after another, until one has to wait or a reply
/// cannot be sent at once.
bool TcpServer::advance(Id id, Connection& connection) {
  while (!connection.waiting && connection.output.empty()) {
    if (!connection.greeted) {
      if (!takeHello(connection)) {
        return kHello.starts_with(connection.input);
      }
    } else {
      WireReader reader(connection.input);
      const auto size = reader.u32();
      if (size && (*size == 0 || *size > kLongestFrame)) {
        return false;
      }
      const auto content = size ? reader.bytes(*size) : std::nullopt;
      if (!content) {
        return true;
      }
      const std::string request(*content);
      connection.input.erase(0, 4 + request.size());
      if (!execute(id, connection, request)) {
        return false;
      }
    }
    if (!flush(id, connection)) {
      return false;
    }
  }
  return true;
}

bool TcpServer::takeHello(Connection& connection) {
  if (!connection.input.starts_with(kHello)) {
    return false;
  }
  connection.input.erase(0, kHello.size());
  connection.output = kHello;
  return connection.greeted = true;
}

/// Carries one request out; says whether it was well formed.
bool TcpServer::execute(Id id, Connection& connection, std::string_view content) {
  WireReader reader(content);
  const auto request = static_cast<Request>(*reader.u8());
  if (request == Request::kNumKeys) {
    reply(connection, Reply::kOk, numberField(static_cast<std::int64_t>(table_.size())));
    return reader.atEnd();
  }
  if (request == Request::kCheck || request == Request::kWait) {
    auto keys = reader.texts();
    if (!keys) {
      return false;
    }
    if (request == Request::kCheck) {
      reply(connection, Reply::kOk, numberField(table_.missing(*keys).empty() ? 1 : 0));
      return reader.atEnd();
    }
    const auto timeoutMs = reader.i64();
    return timeoutMs && reader.atEnd() &&
           startWait(id, connection,
                     {request, std::move(*keys), 0,
                      Deadline(std::chrono::milliseconds(*timeoutMs)).at()});
  }

  const auto key = reader.text(kLongestKey);
  if (!key) {
    return false;
  }
  switch (request) {
    case Request::kSet: {
      auto value = reader.text();
      if (!value || !reader.atEnd()) {
        return false;
      }
      table_.set(*key, std::move(*value));
      reply(connection, Reply::kOk, {});
      keyChanged(*key);
      return true;
    }
    case Request::kAdd: {
      const auto amount = reader.i64();
      if (!amount || !reader.atEnd()) {
        return false;
      }
      const auto sum = table_.sum(*key, *amount);
      if (!sum) {
        reply(connection, Reply::kNotANumber, textField(*table_.find(*key)));
        return true;
      }
      table_.set(*key, std::to_string(*sum));
      reply(connection, Reply::kOk, numberField(*sum));
      keyChanged(*key);
      return true;
    }
    case Request::kCompareSet: {
      const auto expected = reader.text();
      const auto desired = reader.text();
      if (!expected || !desired || !reader.atEnd()) {
        return false;
      }
      const auto comparison = table_.compare(*key, *expected, *desired);
      reply(connection, Reply::kOk, textField(comparison.value));
      if (comparison.writes) {
        table_.set(*key, *desired);
        keyChanged(*key);
      }
      return true;
    }
    case Request::kDelete:
      reply(connection, Reply::kOk, numberField(table_.erase(*key) ? 1 : 0));
      return reader.atEnd();
    case Request::kGet:
    case Request::kWaitAtLeast: {
      const auto atLeast = request == Request::kGet ? 0 : reader.i64();
      const auto timeoutMs = reader.i64();
      return atLeast && timeoutMs && reader.atEnd() &&
             startWait(
                 id, connection,
                 {request, {*key}, *atLeast, Deadline(std::chrono::milliseconds(*timeoutMs)).at()});
    }
    default:
      return false;
  }
}

bool TcpServer::startWait(Id id, Connection& connection, Waiter waiter) {
  if (waiters_.satisfied(waiter)) {
    replyDone(connection, waiter);
  } else {
    connection.waiting = true;
    waiters_.add(id, std::move(waiter));
  }
  return true;
}

void TcpServer::keyChanged(const std::string& key) {
  for (auto& [id, waiter] : waiters_.keyChanged(key)) {
    replyDone(connections_.at(id), waiter);
    answered_.push_back(id);
  }
}

void TcpServer::replyDone(Connection& connection, const Waiter& waiter) {
  connection.waiting = false;
  reply(connection, Reply::kOk,
        waiter.request == Request::kGet ? textField(*table_.find(waiter.keys.front())) : "");
}

void TcpServer::replyLate(Connection& connection, const Waiter& waiter) {
  connection.waiting = false;
  std::string fields;
  if (waiter.request == Request::kWaitAtLeast) {
    fields = numberField(table_.sum(waiter.keys.front(), 0).value_or(0));
  } else {
    WireWriter(fields).texts(table_.missing(waiter.keys));
  }
  reply(connection, Reply::kTimeout, fields);
}

void TcpServer::reply(Connection& connection, Reply status, std::string_view fields) {
  std::string content(1, static_cast<char>(status));
  content += fields;
  connection.output += framed(content);
}

/// Sends what it can; says whether the connection may stay.
bool TcpServer::flush(Id id, Connection& connection) {
  while (connection.sent < connection.output.size()) {
    const ssize_t size = send(connection.socket.get(), connection.output.data() + connection.sent,
                              connection.output.size() - connection.sent, MSG_NOSIGNAL);
    if (size < 0) {
      if (errno == EINTR) {
        continue;
      }
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        return false;
      }
      // No further request is read until the client has taken its reply.
      setInterest(id, connection, EPOLLOUT);
      return true;
    }
    connection.sent += static_cast<std::size_t>(size);
  }
  connection.output.clear();
  connection.sent = 0;
  setInterest(id, connection, EPOLLIN | EPOLLRDHUP);
  return true;
}

void TcpServer::setInterest(Id id, Connection& connection, std::uint32_t events) {
  if (connection.interest == events) {
    return;
  }
  connection.interest = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  const int result = epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket.get(), &event);
  LOCKSTEP_CHECK(result == 0, "epoll_ctl: errno {}", errno);
}

void TcpServer::drop(Id id) {
  waiters_.remove(id);
  connections_.erase(id);
}

}  // namespace lockstep::store::detail
