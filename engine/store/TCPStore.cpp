#include "engine/store/TCPStore.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "engine/store/detail/Deadline.h"
#include "engine/store/detail/Errors.h"
#include "engine/store/detail/Socket.h"
#include "engine/store/detail/TcpServer.h"
#include "engine/store/detail/Wire.h"

namespace lockstep::store {

using detail::Deadline;
using detail::Descriptor;
using detail::Reply;
using detail::Request;
using detail::TcpServer;
using detail::Transfer;
using detail::WireReader;
using detail::WireWriter;

namespace {

// Users' keys go over the wire with a '/' before them, so that this one is ours alone.
constexpr const char* kInitKey = "init/";

/// The server answers a wait at its time limit; this much later the client gives it up.
constexpr Store::Milliseconds kGrace{2000};

constexpr std::size_t kLongestUserKey = detail::kLongestKey - 1;

/// A request without fields, or the start of one.
std::string only(Request request) {
  return std::string(1, static_cast<char>(request));
}

/// The servers of this process that stores may share (multiTenant), by port. A process has one
/// set of ports, so it has one such table.
std::shared_ptr<TcpServer> sharedServer(const std::string& host, std::uint16_t port) {
  static std::mutex mutex;
  static std::map<std::uint16_t, std::weak_ptr<TcpServer>> servers;
  std::lock_guard lock(mutex);
  if (const auto found = servers.find(port); port != 0 && found != servers.end()) {
    if (auto server = found->second.lock()) {
      return server;
    }
  }
  auto server = std::make_shared<TcpServer>(host, port);
  servers[server->port()] = server;
  return server;
}

}  // namespace

struct TCPStore::Answer {
  Reply status{};
  std::string fields;
};

TCPStore::TCPStore(std::string host, const TCPStoreOptions& options)
    : host_(std::move(host)), port_(options.port), timeout_(options.timeout) {
  if (options.numWorkers && *options.numWorkers < 1) {
    throw StoreError(
        fmt::format("{}: {} workers: there must be at least 1", place(), *options.numWorkers));
  }
  if (options.isServer) {
    server_ = options.multiTenant ? sharedServer(host_, port_)
                                  : std::make_shared<TcpServer>(host_, port_);
    port_ = server_->port();
  } else if (port_ == 0) {
    throw StoreError(fmt::format("{}: a client needs the server's port, not 0", place()));
  }
  joinWorkers(options);
}

TCPStore::~TCPStore() = default;

std::string TCPStore::place() const {
  return "store " + detail::endpoint(host_, port_);
}

/// Counts this store in; the server waits until all are.
void TCPStore::joinWorkers(const TCPStoreOptions& options) {
  const Deadline deadline(options.timeout);
  std::string content = only(Request::kAdd);
  WireWriter add(content);
  add.text(kInitKey);
  add.i64(1);
  ask("join", content, options.timeout);
  joined_ = true;
  if (!options.isServer || !options.numWorkers || !options.waitForWorkers) {
    return;
  }
  content = only(Request::kWaitAtLeast);
  WireWriter waiting(content);
  waiting.text(kInitKey);
  waiting.i64(*options.numWorkers);
  waiting.i64(deadline.left().count());
  const Answer answer = ask("wait for workers", content, deadline.left());
  if (answer.status == Reply::kTimeout) {
    throw StoreError(fmt::format("{}: wait for workers: timeout after {} ms: {} of {} have come",
                                 place(), options.timeout.count(),
                                 number("wait for workers", answer), *options.numWorkers));
  }
}

/// Before this store has met its server, the server may still be coming up; after that, a server
/// that does not take connections has ended.
Descriptor TCPStore::connect(const Deadline& deadline, Milliseconds limit) const {
  if (!joined_) {
    return detail::connectTo(host_, port_, deadline, limit);
  }
  std::string error;
  auto socket = detail::tryToConnect(host_, port_, deadline, error);
  if (!socket) {
    throw StoreError(
        fmt::format("{}: connect: {}: the rank that serves the store has ended", place(), error));
  }
  return std::move(*socket);
}

/// Gives a connection that no other call uses, a new one if need be.
Descriptor TCPStore::borrow(const Deadline& deadline, Milliseconds limit) {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Descriptor socket = std::move(idle_.back());
      idle_.pop_back();
      return socket;
    }
  }
  Descriptor socket = connect(deadline, limit);
  std::string hello;
  Transfer result = detail::sendAll(socket.get(), std::string(detail::kHello), deadline);
  if (result == Transfer::kDone) {
    result = detail::receiveAll(socket.get(), hello, detail::kHello.size(), deadline);
  }
  if (result == Transfer::kTimeout) {
    throw StoreError(
        fmt::format("{}: connect: timeout after {} ms: nothing answers there; is it a "
                    "store of Lockstep?",
                    place(), limit.count()));
  }
  if (result != Transfer::kDone || hello != detail::kHello) {
    throw StoreError(
        fmt::format("{}: connect: what listens there is no store of Lockstep, or it "
                    "has just ended",
                    place()));
  }
  return socket;
}

/// Sends a request and takes its reply, at most `limit` and a little later.
TCPStore::Answer TCPStore::ask(const std::string& operation, std::string_view content,
                               Milliseconds limit) {
  if (content.size() > detail::kLongestFrame) {
    tooLong(operation);
  }
  const Deadline deadline(Deadline::clamped(limit) + kGrace);
  Descriptor socket = borrow(Deadline(limit), limit);
  std::string bytes;
  Transfer result = detail::sendAll(socket.get(), detail::framed(content), deadline);
  if (result == Transfer::kDone) {
    result = detail::receiveAll(socket.get(), bytes, 4, deadline);
  }
  if (result == Transfer::kDone) {
    const std::uint32_t size = *WireReader(bytes).u32();
    if (size == 0 || size > detail::kLongestFrame) {
      malformed(operation);
    }
    result = detail::receiveAll(socket.get(), bytes, size, deadline);
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
  {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(socket));
  }
  return {static_cast<Reply>(bytes[0]), bytes.substr(1)};
}

void TCPStore::malformed(const std::string& operation) const {
  throw StoreError(
      fmt::format("{}: {}: the server sent a reply that cannot be read", place(), operation));
}

std::string TCPStore::text(const std::string& operation, const Answer& answer) const {
  auto value = WireReader(answer.fields).text();
  if (!value) {
    malformed(operation);
  }
  return std::move(*value);
}

std::int64_t TCPStore::number(const std::string& operation, const Answer& answer) const {
  const auto value = WireReader(answer.fields).i64();
  if (!value) {
    malformed(operation);
  }
  return *value;
}

void TCPStore::tooLong(const std::string& operation) const {
  throw StoreError(
      fmt::format("{}: {}: too long: a key has at most {} bytes, a value {}, a call {} "
                  "keys",
                  place(), operation, kLongestUserKey, detail::kLongestValue, detail::kMostKeys));
}

/// Starts a request about one key, or about a list of keys for kCheck and kWait.
std::string TCPStore::begin(Request request, const std::string& operation,
                            const std::vector<std::string>& keys) const {
  std::vector<std::string> stored;
  for (const std::string& key : keys) {
    if (key.size() > kLongestUserKey) {
      tooLong(operation);
    }
    stored.push_back("/" + key);
  }
  std::string content = only(request);
  WireWriter fields(content);
  if (request == Request::kCheck || request == Request::kWait) {
    if (keys.size() > detail::kMostKeys) {
      tooLong(operation);
    }
    fields.texts(stored);
  } else {
    fields.text(stored.front());
  }
  return content;
}

void TCPStore::set(const std::string& key, const std::string& value) {
  const std::string operation = "set " + detail::quoted({key});
  if (value.size() > detail::kLongestValue) {
    tooLong(operation);
  }
  std::string content = begin(Request::kSet, operation, {key});
  WireWriter(content).text(value);
  ask(operation, content, timeout());
}

std::string TCPStore::get(const std::string& key) {
  const Milliseconds limit = timeout();
  const std::string operation = "get " + detail::quoted({key});
  std::string content = begin(Request::kGet, operation, {key});
  WireWriter(content).i64(limit.count());
  const Answer answer = ask(operation, content, limit);
  if (answer.status == Reply::kTimeout) {
    throw detail::timeoutError(place(), "get", limit, {key});
  }
  return text(operation, answer);
}

std::int64_t TCPStore::add(const std::string& key, std::int64_t amount) {
  const std::string operation = "add " + detail::quoted({key});
  std::string content = begin(Request::kAdd, operation, {key});
  WireWriter(content).i64(amount);
  const Answer answer = ask(operation, content, timeout());
  if (answer.status == Reply::kNotANumber) {
    throw detail::notANumber(place(), key, text(operation, answer));
  }
  return number(operation, answer);
}

std::string TCPStore::compareSet(const std::string& key, const std::string& expected,
                                 const std::string& desired) {
  const std::string operation = "compareSet " + detail::quoted({key});
  if (expected.size() + desired.size() > detail::kLongestValue) {
    tooLong(operation);
  }
  std::string content = begin(Request::kCompareSet, operation, {key});
  WireWriter fields(content);
  fields.text(expected);
  fields.text(desired);
  return text(operation, ask(operation, content, timeout()));
}

bool TCPStore::deleteKey(const std::string& key) {
  const std::string operation = "deleteKey " + detail::quoted({key});
  return number(operation, ask(operation, begin(Request::kDelete, operation, {key}), timeout())) !=
         0;
}

bool TCPStore::check(const std::vector<std::string>& keys) {
  const std::string operation = "check " + detail::quoted(keys);
  return number(operation, ask(operation, begin(Request::kCheck, operation, keys), timeout())) != 0;
}

std::int64_t TCPStore::getNumKeys() {
  return number("getNumKeys", ask("getNumKeys", only(Request::kNumKeys), timeout()));
}

void TCPStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  const std::string operation = "wait for " + detail::quoted(keys);
  std::string content = begin(Request::kWait, operation, keys);
  WireWriter(content).i64(timeout.count());
  const Answer answer = ask(operation, content, timeout);
  if (answer.status != Reply::kTimeout) {
    return;
  }
  auto missing = WireReader(answer.fields).texts();
  if (!missing) {
    malformed(operation);
  }
  for (std::string& key : *missing) {
    key.erase(0, 1);
  }
  throw detail::timeoutError(place(), "wait", timeout, *missing);
}

Store::Milliseconds TCPStore::timeout() const {
  std::lock_guard lock(mutex_);
  return timeout_;
}

void TCPStore::setTimeout(Milliseconds timeout) {
  std::lock_guard lock(mutex_);
  timeout_ = timeout;
}

}  // namespace lockstep::store
