#include "engine/relay/detail/ZmqSocket.h"

#include <zmq.h>

#include <cerrno>
#include <cstring>

namespace lockstep::relay {

ZmqContext::ZmqContext() : context_(zmq_ctx_new()) {
  LOCKSTEP_CHECK(context_ != nullptr, "zmq_ctx_new: {}", zmq_strerror(errno));
  // Set once for all sockets: the default lets the end wait for a peer that never comes.
  zmq_ctx_set(context_, ZMQ_BLOCKY, 0);
}

ZmqContext::~ZmqContext() {
  while (zmq_ctx_term(context_) != 0 && errno == EINTR) {
  }
}

ZmqSocket::ZmqSocket(ZmqContext& context, int type) : socket_(zmq_socket(context.get(), type)) {
  LOCKSTEP_CHECK(socket_ != nullptr, "zmq_socket: {}", zmq_strerror(errno));
}

ZmqSocket::~ZmqSocket() {
  zmq_close(socket_);
}

void ZmqSocket::set(int option, int value) {
  LOCKSTEP_CHECK(zmq_setsockopt(socket_, option, &value, sizeof(value)) == 0,
                 "ZeroMQ option {} = {}: {}", option, value, zmq_strerror(errno));
}

void ZmqSocket::set(int option, std::int64_t value) {
  LOCKSTEP_CHECK(zmq_setsockopt(socket_, option, &value, sizeof(value)) == 0,
                 "ZeroMQ option {} = {}: {}", option, value, zmq_strerror(errno));
}

void ZmqSocket::set(int option, std::string_view bytes) {
  LOCKSTEP_CHECK(zmq_setsockopt(socket_, option, bytes.data(), bytes.size()) == 0,
                 "ZeroMQ option {}: {}", option, zmq_strerror(errno));
}

int ZmqSocket::fd() const {
  int fd = -1;
  std::size_t size = sizeof(fd);
  zmq_getsockopt(socket_, ZMQ_FD, &fd, &size);
  return fd;
}

std::optional<Frame> ZmqSocket::receive() {
  zmq_msg_t message;
  zmq_msg_init(&message);
  if (zmq_msg_recv(&message, socket_, ZMQ_DONTWAIT) < 0) {
    zmq_msg_close(&message);
    return std::nullopt;
  }
  Frame frame;
  frame.bytes.assign(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
  frame.more = zmq_msg_more(&message) != 0;
  // Only messages from a network have one; those within the process have no connection either.
  if (const char* address = zmq_msg_gets(&message, "Peer-Address")) {
    frame.peerAddress = address;
    frame.connection = zmq_msg_get(&message, ZMQ_SRCFD);
  }
  zmq_msg_close(&message);
  return frame;
}

bool ZmqSocket::send(std::string_view bytes, bool more) {
  return zmq_send(socket_, bytes.data(), bytes.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >=
         0;
}

ConnectionMonitor::ConnectionMonitor(ZmqContext& context, ZmqSocket& socket,
                                     const std::string& name)
    : watched_(socket), pair_(context, ZMQ_PAIR) {
  const std::string place = "inproc://" + name;
  const int made = zmq_socket_monitor(watched_.get(), place.c_str(), ZMQ_EVENT_ALL);
  LOCKSTEP_CHECK(made == 0, "zmq_socket_monitor: {}", zmq_strerror(errno));
  pair_.set(ZMQ_RCVHWM, 0);  // none is left out: the refused are counted
  LOCKSTEP_CHECK(zmq_connect(pair_.get(), place.c_str()) == 0, "{}: {}", place,
                 zmq_strerror(errno));
}

ConnectionMonitor::~ConnectionMonitor() {
  // First, as ZeroMQ would go on writing to a pair that is gone.
  zmq_socket_monitor(watched_.get(), nullptr, 0);
}

std::optional<ConnectionEvent> ConnectionMonitor::next() {
  // Two frames: event (16 bits) and value (32 bits), then the address.
  const auto frame = pair_.receive();
  if (!frame) {
    return std::nullopt;
  }
  if (frame->more) {
    static_cast<void>(pair_.receive());
  }
  std::uint16_t event = 0;
  std::int32_t value = 0;
  if (frame->bytes.size() >= sizeof(event) + sizeof(value)) {
    std::memcpy(&event, frame->bytes.data(), sizeof(event));
    std::memcpy(&value, frame->bytes.data() + sizeof(event), sizeof(value));
  }
  return ConnectionEvent{event, value};
}

}  // namespace lockstep::relay
