#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/Result.h"
#include "engine/relay/Token.h"

namespace lockstep::relay {

/// How long either side lets the other take for ZeroMQ's greeting.
inline constexpr int kHandshakeMs = 5'000;

/// A key as ZeroMQ's options take it.
inline std::string_view bytesOf(const Key& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

/// A ZeroMQ context; it ends after its sockets, without waiting for anybody.
class ZmqContext {
 public:
  ZmqContext();
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  [[nodiscard]] void* get() const { return context_; }

 private:
  void* context_;
};

/// One part of a message, and over which connection it came.
struct Frame {
  std::string bytes;
  bool more = false;
  int connection = -1;      ///< descriptor of the connection; -1 = inside this process
  std::string peerAddress;  ///< "10.0.0.2"; "" inside this process
};

/// A ZeroMQ socket that never blocks. One thread.
class ZmqSocket {
 public:
  ZmqSocket(ZmqContext& context, int type);
  ~ZmqSocket();
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  [[nodiscard]] void* get() const { return socket_; }
  void set(int option, int value);
  void set(int option, std::int64_t value);
  void set(int option, std::string_view bytes);

  /// Readable when there may be something to receive. It tells of changes alone: receive until
  /// there is nothing, and once more after sending.
  [[nodiscard]] int fd() const;

  std::optional<Frame> receive();

  /// Returns whether the part was taken: a queue may be full, a peer gone.
  bool send(std::string_view bytes, bool more = false);

 private:
  void* socket_;
};

/// What a socket's connections go through (zmq_socket_monitor).
struct ConnectionEvent {
  int event = 0;  ///< ZMQ_EVENT_...
  int value = 0;  ///< the connection's descriptor, or a code
};

/// Watches the connections of a socket, which outlives it.
class ConnectionMonitor {
 public:
  ConnectionMonitor(ZmqContext& context, ZmqSocket& socket, const std::string& name);
  ~ConnectionMonitor();
  ConnectionMonitor(const ConnectionMonitor&) = delete;
  ConnectionMonitor& operator=(const ConnectionMonitor&) = delete;

  [[nodiscard]] int fd() const { return pair_.fd(); }
  std::optional<ConnectionEvent> next();

 private:
  ZmqSocket& watched_;
  ZmqSocket pair_;
};

}  // namespace lockstep::relay
