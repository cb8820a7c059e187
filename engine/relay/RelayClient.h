#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/relay/Token.h"
#include "engine/relay/Wire.h"

namespace lockstep::relay {

/// A relay's end of its one connection to the head (Note [The relay's protocol]). One thread; its
/// sockets wake that thread's event loop.
class RelayClient {
 public:
  struct Listener {
    std::function<void(ToRelay)> received;
    std::function<void()> disconnected;  ///< once, after the connection had stood
  };

  /// Connects in the background, again and again until it stands.
  /// Error (kBadInput): no address "tcp://HOST:PORT".
  static base::Result<std::unique_ptr<RelayClient>> connect(const Ticket& ticket);
  ~RelayClient();

  /// Descriptors to watch: when one can be read, call pump(). Call it once more after sending.
  [[nodiscard]] std::vector<int> fds() const;

  /// Tells the listener what has come, in order.
  void pump(const Listener& listener);

  /// Returns whether the message is on its way; it is not where too many wait already.
  bool send(const FromRelay& message);

  /// Says why there is no connection yet: "nobody listens there", "the token was refused".
  [[nodiscard]] std::string trouble() const;

 private:
  struct Sockets;
  explicit RelayClient(const Ticket& ticket);

  std::unique_ptr<Sockets> sockets_;
  bool connected_ = false;
  bool lost_ = false;
  int refusedHandshakes_ = 0;
  bool refusedToken_ = false;
};

/// The host and the port of "tcp://HOST:PORT". Error: kBadInput.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};
base::Result<Endpoint> endpointOf(const std::string& recorder);

/// Whether this host knows the endpoint's: a connection to a name without an address would be tried
/// again and again. Error: kEnvironment.
base::Status lookUp(const Endpoint& endpoint);

/// Returns the address of this host from which packets to `endpoint` would go, or "".
std::string addressToward(const Endpoint& endpoint);

}  // namespace lockstep::relay
