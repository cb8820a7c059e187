#include "engine/relay/RelayClient.h"

#include <netdb.h>
#include <sys/socket.h>
#include <zmq.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/ReadNumber.h"
#include "engine/base/Try.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/relay/detail/ZmqSocket.h"

namespace lockstep::relay {
namespace {

using base::Error;
using base::ExitCode;

constexpr int kReconnectMs = 100;
constexpr int kLongestReconnectMs = 1'000;
constexpr int kClientQueue = 32;  // so that answers to pings do not wait for many batches
constexpr int kLingerMs = 1'000;

int addressesOf(const Endpoint& endpoint, addrinfo** found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  return getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, found);
}

}  // namespace

base::Result<Endpoint> endpointOf(const std::string& recorder) {
  constexpr std::string_view kScheme = "tcp://";
  const std::size_t colon = recorder.rfind(':');
  Endpoint endpoint;
  if (recorder.starts_with(kScheme) && colon != std::string::npos && colon > kScheme.size()) {
    endpoint.host = recorder.substr(kScheme.size(), colon - kScheme.size());
    endpoint.port =
        base::readNumber<std::uint16_t>(std::string_view(recorder).substr(colon + 1)).value_or(0);
    if (endpoint.port != 0) {
      if (endpoint.host.front() == '[' && endpoint.host.back() == ']') {
        endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
      }
      return endpoint;
    }
  }
  return Error{
      ExitCode::kBadInput,
      fmt::format("\"{}\" is no address of a recorder, such as tcp://10.0.0.1:41000", recorder),
      ""};
}

base::Status lookUp(const Endpoint& endpoint) {
  addrinfo* found = nullptr;
  const int code = addressesOf(endpoint, &found);
  if (code != 0) {
    return Error{
        ExitCode::kEnvironment,
        fmt::format("the host \"{}\" is not known here: {}; give the recorder's address, as "
                    "in tcp://10.0.0.1:{}",
                    endpoint.host, code == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(code),
                    endpoint.port),
        ""};
  }
  freeaddrinfo(found);
  return {};
}

std::string addressToward(const Endpoint& endpoint) {
  addrinfo* found = nullptr;
  if (addressesOf(endpoint, &found) != 0) {
    return "";
  }
  std::string address;
  // A datagram socket that is connected has chosen its own address, and sent nothing.
  const posix::Descriptor datagrams(socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  char text[NI_MAXHOST];
  if (connect(datagrams.get(), found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(datagrams.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
      getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof(text), nullptr, 0,
                  NI_NUMERICHOST) == 0) {
    address = text;
  }
  freeaddrinfo(found);
  return address;
}

struct RelayClient::Sockets {
  ZmqContext context;
  ZmqSocket dealer{context, ZMQ_DEALER};
  std::optional<ConnectionMonitor> monitor;
};

RelayClient::RelayClient(const Ticket& ticket) : sockets_(std::make_unique<Sockets>()) {
  ZmqSocket& dealer = sockets_->dealer;
  dealer.set(ZMQ_LINGER, kLingerMs);
  // By the server's key the relay knows that it talks to the head of this run and to nobody else.
  dealer.set(ZMQ_CURVE_SERVERKEY, bytesOf(ticket.token.serverPublic));
  dealer.set(ZMQ_CURVE_SECRETKEY, bytesOf(ticket.token.clientSecret));
  dealer.set(ZMQ_CURVE_PUBLICKEY, bytesOf(publicKey(ticket.token.clientSecret)));
  dealer.set(ZMQ_RECONNECT_IVL, kReconnectMs);
  dealer.set(ZMQ_RECONNECT_IVL_MAX, kLongestReconnectMs);
  dealer.set(ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  dealer.set(ZMQ_SNDHWM, kClientQueue);
  dealer.set(ZMQ_TCP_KEEPALIVE, 1);
  sockets_->monitor.emplace(sockets_->context, dealer, "relay-connection");
}

RelayClient::~RelayClient() = default;

base::Result<std::unique_ptr<RelayClient>> RelayClient::connect(const Ticket& ticket) {
  const auto endpoint = LOCKSTEP_TRY(endpointOf(ticket.recorder));
  std::unique_ptr<RelayClient> client(new RelayClient(ticket));
  ZmqSocket& dealer = client->sockets_->dealer;
  dealer.set(ZMQ_IPV6, endpoint.host.find(':') != std::string::npos ? 1 : 0);
  if (zmq_connect(dealer.get(), ticket.recorder.c_str()) != 0) {
    return Error{ExitCode::kBadInput,
                 fmt::format("cannot connect to a recorder there: {}", zmq_strerror(errno)),
                 ticket.recorder};
  }
  return client;
}

std::vector<int> RelayClient::fds() const {
  return {sockets_->dealer.fd(), sockets_->monitor->fd()};
}

void RelayClient::pump(const Listener& listener) {
  const auto receive = [&] {
    while (auto frame = sockets_->dealer.receive()) {
      while (frame && frame->more) {
        // Messages before events: what the head said before it closed the connection counts.
        frame = sockets_->dealer.receive();
      }
      // Only the holder of the run's secret key can have sent it: what makes no sense is of
      // another version, whose Welcome or Refusal came first.
      if (auto message = frame ? decodeToRelay(frame->bytes) : std::nullopt) {
        listener.received(std::move(*message));
      }
    }
  };
  receive();
  while (const auto event = sockets_->monitor->next()) {
    if (event->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      connected_ = true;
    } else if (event->event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
      refusedToken_ = true;
    } else if (event->event == ZMQ_EVENT_DISCONNECTED) {
      receive();
      if (connected_ && !lost_) {
        lost_ = true;
        // A second connection would be another relay to the head.
        sockets_->dealer.set(ZMQ_RECONNECT_IVL, -1);
        listener.disconnected();
      }
      // Counted for trouble() alone, which is asked while there has been no connection yet.
      ++refusedHandshakes_;
    }
  }
}

bool RelayClient::send(const FromRelay& message) {
  return sockets_->dealer.send(encode(message));
}

std::string RelayClient::trouble() const {
  if (refusedToken_) {
    return "the recorder refused the token, which is of another run";
  }
  return refusedHandshakes_ > 0
             ? "something listens there and ends the handshake: the token is of another run, or "
               "it is no recorder"
             : "nobody listens there, or a firewall is between";
}

}  // namespace lockstep::relay
