#include "engine/store/detail/TcpServer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/Check.h"
#include "engine/base/Thread.h"
#include "engine/store/Store.h"

namespace lockstep::store::detail {
namespace {

constexpr KeyService::Id kNobody = 0;

[[noreturn]] void failWithoutDescriptors(const std::string& host, std::uint16_t port) {
  throw StoreError(fmt::format("store {}: no descriptors left to serve it: {}; raise `ulimit -n`",
                               endpoint(host, port), std::strerror(errno)));
}

posix::EventLoop makeLoop(const std::string& host, std::uint16_t port) {
  auto loop = posix::EventLoop::create();
  if (!loop.ok()) {
    failWithoutDescriptors(host, port);
  }
  return std::move(loop).value();
}

}  // namespace

// Note [One thread for all clients]
//
// The thread sleeps in epoll until a socket is ready, a wait is over, or it is to end. A connection
// is in one of three states (State):
//
//            a request that waits                 kWatch
//   kAsks ───────────────────────▶ kWaits   kAsks ──────▶ kWatches, for good
//     ◀─────────────────────────────┘
//        its keys are there, or its time is over
//
// No client can make the server keep much for it. While a reply has not been taken, nothing more is
// read from that client (setInterest: EPOLLOUT alone), so that the kernel's buffers fill up and the
// client has to stop sending. While it waits it may not send at all. A watcher, to which the server
// speaks unasked, is dropped when it has kMostUnreadNotices to read.
//
// A connection may die at any send. It is dropped where nobody holds a reference to it: in
// handle(), after its own event, and in sendToOthers(), for answers that another one's request
// brought. Ids and not descriptors name connections, as the kernel gives a descriptor anew at once.
TcpServer::TcpServer(const std::string& host, std::uint16_t port, const std::string& listenAddress,
                     const std::string& token)
    : hello_(std::string(kHello) + token),
      listener_(listenOn(host, port, listenAddress)),
      loop_(makeLoop(host, port)),
      spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  if (!wake_.open()) {
    failWithoutDescriptors(host, port);
  }
  watch(listener_.socket.get(), EPOLLIN, [this](std::uint32_t) { acceptAll(); });
  watch(wake_.fd(), EPOLLIN, [this](std::uint32_t) { ending_ = true; });
  thread_ = std::thread([this] { serve(); });
}

TcpServer::~TcpServer() {
  wake_.wake();
  thread_.join();
}

void TcpServer::watch(int fd, std::uint32_t interest, std::function<void(std::uint32_t)> happened) {
  const base::Status added = loop_.add(fd, interest, std::move(happened));
  LOCKSTEP_CHECK(added.ok(), "descriptor {}: {}", fd, added.error().message());
}

void TcpServer::serve() {
  base::nameThisThread("store-server");
  while (!ending_) {
    loop_.waitUntil(service_.nextDeadline().value_or(Deadline::Clock::time_point::max()));
    // After the events: a key that was set just in time still satisfies its waiters.
    service_.expire(Deadline::Clock::now());
    deliver(kNobody);
    sendToOthers();
  }
}

/// Sending may find a connection dead; here nobody holds a reference to one. Who has its answer
/// may have sent the next request already, which may cause further answers.
void TcpServer::sendToOthers() {
  while (!toSend_.empty()) {
    for (const Id id : std::exchange(toSend_, {})) {
      const auto found = connections_.find(id);
      if (found != connections_.end() && !(flush(found->second) && advance(id, found->second))) {
        drop(id);
      }
    }
  }
}

void TcpServer::acceptAll() {
  for (;;) {
    posix::Descriptor socket(
        accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) {
      if (errno == EINTR || errno == ECONNABORTED) {
        continue;
      }
      if ((errno == EMFILE || errno == ENFILE) && spare_.open()) {
        // The client is turned away at once; left in the queue it would wake us for ever.
        spare_.reset();
        posix::Descriptor(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
        spare_ = posix::Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
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
    watch(connection.socket.get(), connection.interest,
          [this, id](std::uint32_t events) { handle(id, events); });
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
    alive = flush(connection) && advance(id, connection);
  }
  if (alive && (events & (EPOLLIN | EPOLLRDHUP)) != 0) {
    // While a request waits, and after kWatch, nothing more may come: what can be read then is
    // the client's end.
    alive = connection.state == State::kAsks && readInput(connection) && advance(id, connection);
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
  while (connection.state == State::kAsks && connection.output.empty()) {
    if (!connection.greeted) {
      if (!takeHello(connection)) {
        // What can no longer become the hello is turned away before it is complete: a browser, say,
        // that speaks another protocol.
        return hello_.starts_with(connection.input);
      }
    } else {
      base::ByteReader reader(connection.input);
      const auto size = reader.take<std::uint32_t>();
      if (size && (*size == 0 || *size > kLongestFrame)) {
        return false;
      }
      const auto content = size ? reader.bytes(*size) : std::nullopt;
      if (!content) {
        return true;
      }
      const std::string request(*content);
      // `content` lies in the input, of which it is cut off here: hence the copy.
      connection.input.erase(0, 4 + request.size());
      if (!execute(id, connection, request)) {
        return false;
      }
    }
    if (!flush(connection)) {
      return false;
    }
  }
  return true;
}

bool TcpServer::takeHello(Connection& connection) {
  if (!connection.input.starts_with(hello_)) {
    return false;
  }
  connection.input.erase(0, hello_.size());
  connection.output = kHello;
  return connection.greeted = true;
}

/// Carries one request out; says whether it was well formed.
bool TcpServer::execute(Id id, Connection& connection, std::string_view content) {
  const auto outcome = service_.execute(id, content);
  if (outcome == KeyService::Outcome::kWaits) {
    connection.state = State::kWaits;
  } else if (outcome == KeyService::Outcome::kWatches) {
    connection.state = State::kWatches;
  }
  deliver(id);
  return outcome != KeyService::Outcome::kMalformed;
}

/// Hands the service's messages to their connections. That of `current`, whose request is being
/// carried out, is sent by who calls; the others' turn comes at the end of the round.
void TcpServer::deliver(Id current) {
  for (auto& [id, frame] : service_.takeMessages()) {
    Connection& connection = connections_.at(id);
    if (connection.state == State::kWaits) {
      connection.state = State::kAsks;
    }
    if (!overflows(connection)) {  // then the end of the round drops it
      connection.output += frame;
    }
    if (id != current) {
      toSend_.push_back(id);
    }
  }
}

/// Whether a watcher has more notices to read than may wait for it.
bool TcpServer::overflows(const Connection& connection) {
  return connection.state == State::kWatches &&
         connection.output.size() - connection.sent > kMostUnreadNotices;
}

/// Sends what it can; says whether the connection may stay.
bool TcpServer::flush(Connection& connection) {
  if (overflows(connection)) {
    return false;
  }
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
      // Cut only now and then: each cut moves all that is left.
      if (connection.sent > connection.output.size() / 2) {
        connection.output.erase(0, std::exchange(connection.sent, 0));
      }
      setInterest(connection, EPOLLOUT);
      return true;
    }
    connection.sent += static_cast<std::size_t>(size);
  }
  connection.output.clear();
  connection.sent = 0;
  setInterest(connection, EPOLLIN | EPOLLRDHUP);
  return true;
}

void TcpServer::setInterest(Connection& connection, std::uint32_t events) {
  if (connection.interest == events) {
    return;
  }
  connection.interest = events;
  loop_.setInterest(connection.socket.get(), events);
}

void TcpServer::drop(Id id) {
  // First, so that no message is made for a connection that is gone.
  service_.forget(id);
  const auto found = connections_.find(id);
  loop_.remove(found->second.socket.get());
  connections_.erase(found);
}

}  // namespace lockstep::store::detail
