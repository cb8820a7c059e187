#include "engine/store/detail/Socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include "engine/store/Store.h"

namespace lockstep::store::detail {

using posix::Descriptor;

namespace {

constexpr Deadline::Milliseconds kLongestTry{5000};

struct AddressList {
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> first{nullptr, &freeaddrinfo};
  std::string error;
};

AddressList lookUp(const char* host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  int code = getaddrinfo(host, service.c_str(), &hints, &found);
  if (code != 0 && host != nullptr && std::string_view(host) == "localhost") {
    // A bare container has no /etc/hosts; the name means the loopback all the same (RFC 6761).
    hints.ai_flags &= ~AI_PASSIVE;
    code = getaddrinfo(nullptr, service.c_str(), &hints, &found);
  }
  AddressList list;
  list.first.reset(found);
  if (code != 0) {
    list.error = code == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(code);
  }
  return list;
}

bool isLoopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* ip4 = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(ip4->sin_addr.s_addr) >> 24 == 127;
  }
  const auto* ip6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ip6->sin6_addr) != 0;
}

/// A host name of this machine often stands for 127.0.1.1 in /etc/hosts, and other hosts still
/// must reach it; only who writes the loopback itself wants nothing else.
bool namesLoopback(const std::string& host) {
  if (host == "localhost") {
    return true;
  }
  const AddressList list = lookUp(host.c_str(), 0, AI_NUMERICHOST);
  return list.first != nullptr && isLoopback(list.first->ai_addr);
}

std::uint16_t portOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

void setOption(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));
}

Descriptor listenAt(const addrinfo& address) {
  Descriptor fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.open()) {
    return fd;
  }
  // A job that is started again must not wait until the kernel has forgotten the old connections.
  setOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6) {
    // One socket for both families, except at ::1: that means the IPv6 loopback alone.
    setOption(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, isLoopback(address.ai_addr) ? 1 : 0);
  }
  if (bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    fd.reset();
  }
  return fd;
}

/// Returns an error text, empty when `fd` is connected.
std::string connectAt(const addrinfo& address, const Deadline& deadline, Descriptor& fd) {
  fd = Descriptor(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.open()) {
    return std::strerror(errno);
  }
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) {
      return std::strerror(errno);
    }
    pollfd ready{fd.get(), POLLOUT, 0};
    int count = 0;
    do {
      count = poll(&ready, 1, static_cast<int>(deadline.left().count()));
    } while (count < 0 && errno == EINTR);
    int error = count > 0 ? 0 : ETIMEDOUT;
    socklen_t size = sizeof(error);
    if (count > 0) {
      getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error != 0) {
      return std::strerror(error);
    }
  }
  // A free port of the ephemeral range may be given to the connecting side itself.
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t ownSize = sizeof(own);
  socklen_t peerSize = sizeof(peer);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &ownSize);
  getpeername(fd.get(), reinterpret_cast<sockaddr*>(&peer), &peerSize);
  if (ownSize == peerSize && std::memcmp(&own, &peer, ownSize) == 0) {
    return "connected to itself";
  }
  return {};
}

void tune(int fd) {
  setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // A server whose host went down without a word is noticed within half a minute.
  setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  setOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace

std::string endpoint(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Listener listenOn(const std::string& host, std::uint16_t port, const std::string& listenAddress) {
  const std::string only = listenAddress.empty() && namesLoopback(host) ? host : listenAddress;
  const bool every = only.empty();
  AddressList list = lookUp(every ? nullptr : only.c_str(), port, every ? AI_PASSIVE : 0);
  std::string error = list.error;
  // IPv6 first where every address is wanted: its socket takes IPv4 too.
  const std::array<int, 2> families{every ? AF_INET6 : AF_INET, every ? AF_INET : AF_INET6};
  for (const int family : families) {
    for (const addrinfo* at = list.first.get(); at != nullptr; at = at->ai_next) {
      if (at->ai_family != family) {
        continue;
      }
      Descriptor fd = listenAt(*at);
      if (fd.open()) {
        const std::uint16_t actual = portOf(fd.get());
        return {std::move(fd), actual};
      }
      error = std::strerror(errno);
      // Another address of this family would only hide that the port is taken on the first.
      if (errno == EADDRINUSE) {
        break;
      }
    }
  }
  throw StoreError(fmt::format(
      "store {}: the server socket has failed to listen on any local network address: {}; end the "
      "process that has port {}, or choose another port (0 takes a free one)",
      endpoint(host, port), error, port));
}

std::optional<Descriptor> tryToConnect(const std::string& host, std::uint16_t port,
                                       const Deadline& deadline, std::string& error) {
  const AddressList list = lookUp(host.c_str(), port, 0);
  error = list.error;
  for (const addrinfo* at = list.first.get(); at != nullptr; at = at->ai_next) {
    Descriptor fd;
    // An address that swallows packets must leave time for the next one.
    error = connectAt(*at, Deadline(std::min(deadline.left(), kLongestTry)), fd);
    if (error.empty()) {
      tune(fd.get());
      return fd;
    }
  }
  return std::nullopt;
}

Descriptor connectTo(const std::string& host, std::uint16_t port, const Deadline& deadline,
                     Deadline::Milliseconds timeout) {
  auto pause = Deadline::Milliseconds(5);
  for (;;) {
    std::string error;
    if (auto fd = tryToConnect(host, port, deadline, error)) {
      return std::move(*fd);
    }
    if (deadline.passed()) {
      throw StoreError(fmt::format(
          "store {}: connect: timeout after {} ms: {}; is the rank that serves the store running "
          "there?",
          endpoint(host, port), timeout.count(), error));
    }
    std::this_thread::sleep_for(std::min(pause, deadline.left() + Deadline::Milliseconds(1)));
    pause = std::min(pause * 2, Deadline::Milliseconds(100));
  }
}

namespace {

/// Waits for `events`; gives kDone when the socket is ready.
Transfer awaitReady(int fd, short events, const Deadline& deadline) {
  pollfd ready{fd, events, 0};
  const int count = poll(&ready, 1, static_cast<int>(deadline.left().count()));
  if (count < 0 && errno != EINTR) {
    return Transfer::kClosed;
  }
  // A signal, or a poll that ended a little early, counts as ready: the caller tries and comes
  // back.
  return count == 0 && deadline.passed() ? Transfer::kTimeout : Transfer::kDone;
}

bool mayTryAgain() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Transfer sendAll(int fd, const std::string& bytes, const Deadline& deadline) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t size = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (size >= 0) {
      done += static_cast<std::size_t>(size);
      continue;
    }
    const Transfer ready = mayTryAgain() ? awaitReady(fd, POLLOUT, deadline) : Transfer::kClosed;
    if (ready != Transfer::kDone) {
      return ready;
    }
  }
  return Transfer::kDone;
}

Transfer receiveAll(int fd, std::string& bytes, std::size_t count, const Deadline& deadline) {
  bytes.assign(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t size = recv(fd, bytes.data() + done, count - done, 0);
    if (size > 0) {
      done += static_cast<std::size_t>(size);
      continue;
    }
    const Transfer ready =
        size < 0 && mayTryAgain() ? awaitReady(fd, POLLIN, deadline) : Transfer::kClosed;
    if (ready != Transfer::kDone) {
      return ready;
    }
  }
  return Transfer::kDone;
}

}  // namespace lockstep::store::detail
