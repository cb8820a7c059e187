#include "engine/relay/RelayServer.h"

#include <zmq.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/relay/detail/ZmqSocket.h"

namespace lockstep::relay {
namespace {

using base::Error;
using base::ExitCode;

constexpr std::int64_t kMostBytes = 64 << 20;  // of one message
constexpr int kServerQueue = 1'000;            // for and from one relay
constexpr int kMessagesAtOnce = 256;           // before others have a turn
constexpr int kEventsAtOnce = 256;             // of connections, which anybody can make

}  // namespace

std::string describe(const Refused& refused) {
  std::string kinds;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) {
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, what);
    }
  };
  add(refused.wrongToken, "with a wrong token");
  add(refused.noHandshake, "with the recorder's key wrong, or a handshake sent again");
  add(refused.noise, "that did not speak its protocol");
  add(refused.unreadable, "with messages that make no sense");
  return fmt::format("{} to the recorder's port refused: {}",
                     base::countedText(refused.total(), "connection"), kinds);
}

struct RelayServer::Sockets {
  // ZeroMQ asks at this address whether a client may come in (ZAP, rfc.zeromq.org/spec/27).
  static constexpr const char* kAuthenticator = "inproc://zeromq.zap.01";

  ZmqContext context;
  ZmqSocket authenticator{context, ZMQ_ROUTER};
  ZmqSocket router{context, ZMQ_ROUTER};
  std::optional<ConnectionMonitor> monitor;
};

// Note [Who may come in]
//
// The port is open to anybody who can reach the host, and what ranks record and print passes
// through it, and the token of the store. So each run draws two pairs of keys, and its own token,
// which only the user's hosts have, holds one half of each (Token.h):
//
//   the relay shows its public key ──▶ ZeroMQ asks at `authenticator` ──▶ is it clientPublic_?
//   all bytes are encrypted for serverSecret: who does not know its public key cannot greet at all
//
// ZeroMQ makes and drops connections by itself. What became of them it reports by the monitor, as
// events; a failed handshake has two, the reason and then the end of the connection. A connection
// is somebody's only from its first message on: one that ends before counts as refused.
RelayServer::RelayServer(const RunKeys& keys)
    : clientPublic_(keys.clientPublic), sockets_(std::make_unique<Sockets>()) {
  LOCKSTEP_CHECK(zmq_bind(sockets_->authenticator.get(), Sockets::kAuthenticator) == 0, "{}",
                 zmq_strerror(errno));
  ZmqSocket& router = sockets_->router;
  router.set(ZMQ_LINGER, 1'000);
  router.set(ZMQ_CURVE_SERVER, 1);
  router.set(ZMQ_CURVE_SECRETKEY, bytesOf(keys.serverSecret));
  router.set(ZMQ_ZAP_DOMAIN, std::string_view("lockstep"));
  router.set(ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  router.set(ZMQ_MAXMSGSIZE, kMostBytes);
  router.set(ZMQ_SNDHWM, kServerQueue);
  router.set(ZMQ_RCVHWM, kServerQueue);
  router.set(ZMQ_ROUTER_MANDATORY, 1);
  router.set(ZMQ_TCP_KEEPALIVE, 1);
  sockets_->monitor.emplace(sockets_->context, router, "recorder-connections");
}

RelayServer::~RelayServer() = default;

base::Result<std::unique_ptr<RelayServer>> RelayServer::listen(const std::string& address,
                                                               std::uint16_t port,
                                                               const RunKeys& keys) {
  std::unique_ptr<RelayServer> server(new RelayServer(keys));
  const std::string place =
      fmt::format("tcp://{}:{}", address, port == 0 ? "*" : std::to_string(port));
  void* router = server->sockets_->router.get();
  if (address.find(':') != std::string::npos) {
    server->sockets_->router.set(ZMQ_IPV6, 1);
  }
  if (zmq_bind(router, place.c_str()) != 0) {
    const bool taken = errno == EADDRINUSE;
    return Error{ExitCode::kEnvironment,
                 fmt::format("the recorder cannot listen there: {}{}", zmq_strerror(errno),
                             taken ? "; choose another port, or 0 for a free one"
                                   : "; give an address of this host"),
                 fmt::format("launch.listen {}:{}", address, port)};
  }
  char bound[256];
  std::size_t size = sizeof(bound);
  zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, bound, &size);
  server->port_ = static_cast<std::uint16_t>(std::atoi(std::strrchr(bound, ':') + 1));
  return server;
}

std::vector<int> RelayServer::fds() const {
  return {sockets_->authenticator.fd(), sockets_->router.fd(), sockets_->monitor->fd()};
}

bool RelayServer::pump(const Listener& listener) {
  answerAuthentication();
  // While messages wait, no events are looked at: the end of a connection must not come before what
  // was said over it.
  return receiveMessages(listener) || watchConnections(listener);
}

void RelayServer::answerAuthentication() {
  // Frames: whom to answer, an empty one, version, request, domain, address, identity, mechanism,
  // and with CURVE the client's public key.
  while (auto frame = sockets_->authenticator.receive()) {
    std::vector<std::string> frames{std::move(frame->bytes)};
    for (bool more = frame->more; more;) {
      auto next = sockets_->authenticator.receive();
      more = next && next->more;
      frames.push_back(next ? std::move(next->bytes) : std::string());
    }
    constexpr std::size_t kMechanism = 7;
    // The answer must have as many parts as the protocol asks for, whatever came in.
    const bool known = frames.size() == kMechanism + 2 && frames[kMechanism] == "CURVE" &&
                       frames[kMechanism + 1] == bytesOf(clientPublic_);
    frames.resize(std::max<std::size_t>(frames.size(), 4));
    const std::string_view answer[] = {
        frames[0], "", "1.0", frames[3], known ? "200" : "400", known ? "OK" : "No access", "", ""};
    for (std::size_t i = 0; i < std::size(answer); ++i) {
      sockets_->authenticator.send(answer[i], i + 1 < std::size(answer));
    }
  }
}

bool RelayServer::receiveMessages(const Listener& listener) {
  for (int count = 0; count < kMessagesAtOnce; ++count) {
    const auto identity = sockets_->router.receive();
    if (!identity) {
      return false;
    }
    std::optional<Frame> body;
    bool more = identity->more;
    // All parts of a message are taken, however many: what is left would be read as the next one.
    int parts = 0;
    while (more) {
      body = sockets_->router.receive();
      more = body && body->more;
      ++parts;
    }
    auto message = parts == 1 && body ? decodeFromRelay(body->bytes) : std::nullopt;
    if (!message) {
      ++refused_.unreadable;
      continue;
    }
    connections_[body->connection] = identity->bytes;
    listener.received(identity->bytes, body->peerAddress, std::move(*message));
  }
  return true;
}

bool RelayServer::watchConnections(const Listener& listener) {
  for (int count = 0; count < kEventsAtOnce; ++count) {
    const auto event = sockets_->monitor->next();
    if (!event) {
      return false;
    }
    // The reason of a failure comes right before the end of its connection.
    if (event->event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
      lastFailure_ = &refused_.wrongToken;
    } else if (event->event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) {
      lastFailure_ = &refused_.noHandshake;
    } else if (event->event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
      lastFailure_ = &refused_.noise;
    } else if (event->event == ZMQ_EVENT_DISCONNECTED) {
      std::uint64_t* reason = std::exchange(lastFailure_, nullptr);
      // What it said before comes first.
      while (receiveMessages(listener)) {
      }
      const auto found = connections_.find(event->value);
      if (found != connections_.end()) {
        const Peer peer = found->second;
        connections_.erase(found);
        listener.disconnected(peer);
      } else {
        ++(reason != nullptr ? *reason : refused_.noise);
      }
    }
  }
  return true;
}

bool RelayServer::send(const Peer& peer, const ToRelay& message) {
  return sockets_->router.send(peer, true) && sockets_->router.send(encode(message));
}

}  // namespace lockstep::relay
