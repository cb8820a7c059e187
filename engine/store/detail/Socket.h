#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/posix/Descriptor.h"
#include "engine/store/detail/Deadline.h"

namespace lockstep::store::detail {

/// "host:port", with an IPv6 address in brackets.
std::string endpoint(const std::string& host, std::uint16_t port);

struct Listener {
  posix::Descriptor socket;
  std::uint16_t port = 0;
};

/// Listens on `port` (0 = any free one), without blocking: at `listenAddress`; when that is empty,
/// on the loopback only when `host` is one, otherwise on every local address, IPv6 and IPv4. Throws
/// StoreError.
Listener listenOn(const std::string& host, std::uint16_t port,
                  const std::string& listenAddress = "");

/// Connects to any address of the host; nothing when that fails, with the reason in `error`.
std::optional<posix::Descriptor> tryToConnect(const std::string& host, std::uint16_t port,
                                              const Deadline& deadline, std::string& error);

/// Connects, trying again and again until the deadline, since the server may come up later.
/// Throws StoreError, whose text says why the last try failed.
posix::Descriptor connectTo(const std::string& host, std::uint16_t port, const Deadline& deadline,
                            Deadline::Milliseconds timeout);

/// A blocking exchange over a socket that does not block; each call ends at its deadline.
enum class Transfer { kDone, kClosed, kTimeout };
Transfer sendAll(int fd, const std::string& bytes, const Deadline& deadline);
Transfer receiveAll(int fd, std::string& bytes, std::size_t count, const Deadline& deadline);

}  // namespace lockstep::store::detail
