#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/relay/Token.h"
#include "engine/relay/Wire.h"

namespace lockstep::relay {

/// Connections that were not let in, by what was wrong with them.
struct Refused {
  std::uint64_t wrongToken =
      0;  ///< a client that knows the recorder's key, with another of its own
  std::uint64_t noHandshake = 0;  ///< another key of the recorder, a handshake sent again
  std::uint64_t noise = 0;        ///< spoke something else, or nothing for some seconds
  std::uint64_t unreadable = 0;   ///< messages of relays that were let in and make no sense

  [[nodiscard]] std::uint64_t total() const {
    return wrongToken + noHandshake + noise + unreadable;
  }
};

/// Says in one line who was refused: "3 connections to the recorder's port were refused: ...".
std::string describe(const Refused& refused);

/// The head's end: a port at which the relays of one run report (Note [The relay's protocol]).
/// Whoever has not the run's token is refused by CURVE and counted. One thread; its sockets wake
/// that thread's event loop. Note [Who may come in] in the .cpp.
class RelayServer {
 public:
  /// Names a relay's one connection.
  using Peer = std::string;

  struct Listener {
    std::function<void(const Peer&, const std::string& address, FromRelay)> received;
    std::function<void(const Peer&)> disconnected;
  };

  /// Listens at `address` (one of this host, or 0.0.0.0); port 0 takes a free one.
  /// Error (kEnvironment): it is taken, or no address of this host.
  static base::Result<std::unique_ptr<RelayServer>> listen(const std::string& address,
                                                           std::uint16_t port, const RunKeys& keys);
  ~RelayServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// Descriptors to watch: when one can be read, call pump(). Call it once more after sending.
  [[nodiscard]] std::vector<int> fds() const;

  /// Tells the listener what has come, in order. Returns whether there may be more.
  bool pump(const Listener& listener);

  /// Returns whether the message is on its way.
  bool send(const Peer& peer, const ToRelay& message);

  [[nodiscard]] const Refused& refused() const { return refused_; }

 private:
  struct Sockets;
  explicit RelayServer(const RunKeys& keys);
  void answerAuthentication();
  bool receiveMessages(const Listener& listener);
  bool watchConnections(const Listener& listener);

  const Key clientPublic_;
  std::unique_ptr<Sockets> sockets_;
  std::uint16_t port_ = 0;
  std::map<int, Peer> connections_;  // by descriptor, of those that have said something
  std::uint64_t* lastFailure_ = nullptr;
  Refused refused_;
};

}  // namespace lockstep::relay
