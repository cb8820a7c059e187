#include "engine/store/detail/TcpClient.h"

#include <fmt/format.h>

#include <utility>

#include "engine/store/Store.h"

namespace lockstep::store::detail {
namespace {

/// The server answers a wait at its time limit; this much later the client gives it up. A call
/// with a shorter limit still has that long to connect.
constexpr Deadline::Milliseconds kGrace{2000};

}  // namespace

Answer::Answer(std::string place, std::string operation, Reply status, std::string fields)
    : place_(std::move(place)),
      operation_(std::move(operation)),
      status_(status),
      fields_(std::move(fields)) {}

void Answer::malformed() const {
  throw StoreError(
      fmt::format("{}: {}: the server sent a reply that cannot be read", place_, operation_));
}

std::string Answer::text() const {
  return std::move(values(1).front());
}

std::vector<std::string> Answer::values(std::size_t count) const {
  base::ByteReader reader(fields_);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) {
    auto value = reader.text(kLongestValue);
    if (!value) {
      malformed();
    }
    result.push_back(std::move(*value));
  }
  if (!reader.atEnd()) {
    malformed();
  }
  return result;
}

std::int64_t Answer::number() const {
  base::ByteReader reader(fields_);
  const auto value = reader.take<std::int64_t>();
  if (!value || !reader.atEnd()) {
    malformed();
  }
  return *value;
}

std::vector<std::string> Answer::keys() const {
  base::ByteReader reader(fields_);
  auto keys = takeKeys(reader);
  if (!keys || !reader.atEnd()) {
    malformed();
  }
  return std::move(*keys);
}

TcpClient::TcpClient(std::string host, std::uint16_t port, const std::string& token)
    : host_(std::move(host)), port_(port), hello_(std::string(kHello) + token) {}

std::string TcpClient::place() const {
  return "store " + endpoint(host_, port_);
}

void TcpClient::tooLong(const std::string& operation) const {
  throw StoreError(
      fmt::format("{}: {}: too long: a key has at most {} bytes, a value {}, a call {} keys and "
                  "{} bytes in all",
                  place(), operation, kLongestKey - 1, kLongestValue, kMostKeys, kLongestFrame));
}

posix::Descriptor TcpClient::connect(Milliseconds limit) const {
  // Before the first answer the server may be about to start; afterwards it can only have ended.
  const bool met = met_.load();
  const Deadline deadline(met ? Deadline::clamped(limit) + kGrace : limit);
  posix::Descriptor socket;
  if (!met) {
    socket = connectTo(host_, port_, deadline, limit);
  } else {
    std::string error;
    auto connected = tryToConnect(host_, port_, deadline, error);
    if (!connected) {
      throw StoreError(
          fmt::format("{}: connect: {}: the rank that serves the store has ended", place(), error));
    }
    socket = std::move(*connected);
  }
  std::string hello;
  Transfer result = sendAll(socket.get(), hello_, deadline);
  if (result == Transfer::kDone) {
    result = receiveAll(socket.get(), hello, kHello.size(), deadline);
  }
  if (result == Transfer::kTimeout) {
    throw StoreError(fmt::format(
        "{}: connect: timeout after {} ms: nothing answers there; is it a store of Lockstep, and "
        "this process one of its run's ranks?",
        place(), limit.count()));
  }
  if (result == Transfer::kClosed && met) {
    throw StoreError(
        fmt::format("{}: connect: the server closed the connection: the rank that serves the store "
                    "has ended",
                    place()));
  }
  if (result != Transfer::kDone || hello != kHello) {
    throw StoreError(fmt::format(
        "{}: connect: what listens there is no store of Lockstep, or another run's, or it has just "
        "ended",
        place()));
  }
  return socket;
}

/// Gives a connection that no other call uses, a new one if need be.
posix::Descriptor TcpClient::borrow(Milliseconds limit) {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      posix::Descriptor socket = std::move(idle_.back());
      idle_.pop_back();
      return socket;
    }
  }
  return connect(limit);
}

Answer TcpClient::exchange(posix::Descriptor& socket, const std::string& operation,
                           std::string_view content, Milliseconds limit) {
  const Deadline deadline(Deadline::clamped(limit) + kGrace);
  std::string bytes;
  Transfer result = sendAll(socket.get(), framed(content), deadline);
  if (result == Transfer::kDone) {
    result = receiveAll(socket.get(), bytes, 4, deadline);
  }
  if (result == Transfer::kDone) {
    const std::uint32_t size = *base::ByteReader(bytes).take<std::uint32_t>();
    if (size == 0 || size > kLongestFrame) {
      throw StoreError(
          fmt::format("{}: {}: the server sent a reply of {} bytes", place(), operation, size));
    }
    result = receiveAll(socket.get(), bytes, size, deadline);
  }
  if (result == Transfer::kTimeout) {
    throw StoreError(fmt::format("{}: {}: timeout after {} ms: the server does not answer", place(),
                                 operation, limit.count()));
  }
  if (result == Transfer::kClosed) {
    throw StoreError(
        fmt::format("{}: {}: the server closed the connection: the rank that serves "
                    "the store has ended",
                    place(), operation));
  }
  met_.store(true);
  Answer answer(place(), operation, static_cast<Reply>(bytes[0]), bytes.substr(1));
  return answer;
}

Answer TcpClient::ask(const std::string& operation, std::string_view content, Milliseconds limit) {
  if (content.size() > kLongestFrame) {
    tooLong(operation);
  }
  posix::Descriptor socket = borrow(limit);
  // If this throws, the connection is closed and not kept: the reply to this request might still
  // come on it, and be taken for the reply to the next one.
  Answer answer = exchange(socket, operation, content, limit);
  {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(socket));
  }
  if (answer.status() == Reply::kTooLarge) {
    throw StoreError(fmt::format(
        "{}: {}: {} bytes are too many: a value has at most {}, the "
        "values of one call {}, a store {}",
        place(), operation, answer.number(), kLongestValue, kLongestFrame, kMostStored));
  }
  return answer;
}

posix::Descriptor TcpClient::subscribe(const std::string& operation, std::string_view content,
                                       Milliseconds limit) {
  posix::Descriptor socket = connect(limit);
  exchange(socket, operation, content, limit);
  return socket;
}

}  // namespace lockstep::store::detail
