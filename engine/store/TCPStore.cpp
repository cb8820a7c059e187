#include "engine/store/TCPStore.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "engine/store/detail/Errors.h"
#include "engine/store/detail/TcpClient.h"
#include "engine/store/detail/TcpServer.h"
#include "engine/store/detail/TcpWatcher.h"
#include "engine/store/detail/Wire.h"

namespace lockstep::store {

using base::ByteWriter;
using detail::Answer;
using detail::Deadline;
using detail::Reply;
using detail::Request;
using detail::TcpServer;

namespace {

// Users' keys go over the wire with a '/' before them, so that this one is ours alone.
constexpr const char* kInitKey = "init/";

/// A request without fields, or the start of one.
std::string only(Request request) {
  return std::string(1, static_cast<char>(request));
}

/// The servers of this process that stores may share (multiTenant), by port. A process has one
/// set of ports, so it has one such table.
std::shared_ptr<TcpServer> sharedServer(const std::string& host, std::uint16_t port,
                                        const std::string& listenAddress,
                                        const std::string& token) {
  static std::mutex mutex;
  static std::map<std::uint16_t, std::weak_ptr<TcpServer>> servers;
  std::lock_guard lock(mutex);
  if (const auto found = servers.find(port); port != 0 && found != servers.end()) {
    if (auto server = found->second.lock()) {
      return server;
    }
  }
  auto server = std::make_shared<TcpServer>(host, port, listenAddress, token);
  servers[server->port()] = server;
  return server;
}

}  // namespace

TCPStore::TCPStore(std::string host, const TCPStoreOptions& options)
    : StandaloneStore(options.timeout), host_(std::move(host)), port_(options.port) {
  const std::string place = "store " + detail::endpoint(host_, port_);
  if (options.numWorkers && *options.numWorkers < 1) {
    throw StoreError(
        fmt::format("{}: {} workers: there must be at least 1", place, *options.numWorkers));
  }
  if (options.isServer) {
    server_ = options.multiTenant
                  ? sharedServer(host_, port_, options.listenAddress, options.token)
                  : std::make_shared<TcpServer>(host_, port_, options.listenAddress, options.token);
    port_ = server_->port();
  } else if (port_ == 0) {
    throw StoreError(fmt::format("{}: a client needs the server's port, not 0", place));
  }
  client_ = std::make_unique<detail::TcpClient>(host_, port_, options.token);
  joinWorkers(options);
}

TCPStore::~TCPStore() = default;

/// Counts this store in; the server waits until all are.
void TCPStore::joinWorkers(const TCPStoreOptions& options) {
  const Deadline deadline(options.timeout);
  std::string content = only(Request::kAdd);
  ByteWriter add(content);
  add.text(kInitKey);
  add.put<std::int64_t>(1);
  client_->ask("join", content, options.timeout);
  if (!options.isServer || !options.numWorkers || !options.waitForWorkers) {
    return;
  }
  // c10d's clients do not wait for each other either: only the server's constructor does.
  content = only(Request::kWaitAtLeast);
  ByteWriter waiting(content);
  waiting.text(kInitKey);
  waiting.put<std::int64_t>(*options.numWorkers);
  waiting.put<std::int64_t>(deadline.left().count());
  const Answer answer = client_->ask("wait for workers", content, deadline.left());
  if (answer.status() == Reply::kTimeout) {
    throw StoreError(fmt::format("{}: wait for workers: timeout after {} ms: {} of {} have come",
                                 client_->place(), options.timeout.count(), answer.number(),
                                 *options.numWorkers));
  }
}

/// Starts a request about one key.
std::string TCPStore::begin(Request request, const std::string& operation,
                            const std::string& key) const {
  if (key.size() >= detail::kLongestKey) {
    client_->tooLong(operation);
  }
  std::string content = only(request);
  ByteWriter(content).text("/" + key);
  return content;
}

/// Starts a request about a list of keys.
std::string TCPStore::begin(Request request, const std::string& operation,
                            const std::vector<std::string>& keys) const {
  if (keys.size() > detail::kMostKeys) {
    client_->tooLong(operation);
  }
  std::vector<std::string> stored;
  stored.reserve(keys.size());
  for (const std::string& key : keys) {
    if (key.size() >= detail::kLongestKey) {
      client_->tooLong(operation);
    }
    stored.push_back("/" + key);
  }
  std::string content = only(request);
  ByteWriter fields(content);
  fields(stored);
  return content;
}

std::string TCPStore::withValue(Request request, const std::string& operation,
                                const std::string& key, const std::string& value) const {
  if (value.size() > detail::kLongestValue) {
    client_->tooLong(operation);
  }
  std::string content = begin(request, operation, key);
  ByteWriter(content).text(value);
  return content;
}

/// Throws the time-out of a wait that the server has answered with the keys that are missing.
void TCPStore::missing(const std::string& operation, const Answer& answer,
                       Milliseconds limit) const {
  std::vector<std::string> keys = answer.keys();
  for (std::string& key : keys) {
    // The '/' that begin() put before it.
    key.erase(0, 1);
  }
  throw detail::timeoutError(client_->place(), operation, limit, keys);
}

void TCPStore::set(const std::string& key, const std::string& value) {
  const std::string operation = "set " + detail::quoted({key});
  client_->ask(operation, withValue(Request::kSet, operation, key, value), timeout());
}

std::string TCPStore::get(const std::string& key) {
  const Milliseconds limit = timeout();
  const std::string operation = "get " + detail::quoted({key});
  std::string content = begin(Request::kGet, operation, key);
  ByteWriter(content).put<std::int64_t>(limit.count());
  const Answer answer = client_->ask(operation, content, limit);
  if (answer.status() == Reply::kTimeout) {
    missing("get", answer, limit);
  }
  return answer.text();
}

std::int64_t TCPStore::add(const std::string& key, std::int64_t amount) {
  const std::string operation = "add " + detail::quoted({key});
  std::string content = begin(Request::kAdd, operation, key);
  ByteWriter(content).put<std::int64_t>(amount);
  const Answer answer = client_->ask(operation, content, timeout());
  if (answer.status() == Reply::kNotANumber) {
    throw detail::notANumber(client_->place(), key, answer.text());
  }
  return answer.number();
}

std::string TCPStore::compareSet(const std::string& key, const std::string& expected,
                                 const std::string& desired) {
  const std::string operation = "compareSet " + detail::quoted({key});
  if (expected.size() > detail::kLongestValue || desired.size() > detail::kLongestValue) {
    client_->tooLong(operation);
  }
  std::string content = begin(Request::kCompareSet, operation, key);
  ByteWriter fields(content);
  fields.text(expected);
  fields.text(desired);
  return client_->ask(operation, content, timeout()).text();
}

bool TCPStore::deleteKey(const std::string& key) {
  const std::string operation = "deleteKey " + detail::quoted({key});
  return client_->ask(operation, begin(Request::kDelete, operation, key), timeout()).number() != 0;
}

bool TCPStore::check(const std::vector<std::string>& keys) {
  const std::string operation = "check " + detail::quoted(keys);
  return client_->ask(operation, begin(Request::kCheck, operation, keys), timeout()).number() != 0;
}

std::int64_t TCPStore::getNumKeys() {
  return client_->ask("getNumKeys", only(Request::kNumKeys), timeout()).number();
}

void TCPStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  const std::string operation = "wait for " + detail::quoted(keys);
  std::string content = begin(Request::kWait, operation, keys);
  ByteWriter(content).put<std::int64_t>(timeout.count());
  const Answer answer = client_->ask(operation, content, timeout);
  if (answer.status() == Reply::kTimeout) {
    missing("wait", answer, timeout);
  }
}

void TCPStore::append(const std::string& key, const std::string& value) {
  const std::string operation = "append " + detail::quoted({key});
  client_->ask(operation, withValue(Request::kAppend, operation, key, value), timeout());
}

std::vector<std::string> TCPStore::multiGet(const std::vector<std::string>& keys) {
  const Milliseconds limit = timeout();
  const std::string operation = "multiGet " + detail::quoted(keys);
  std::string content = begin(Request::kMultiGet, operation, keys);
  ByteWriter(content).put<std::int64_t>(limit.count());
  const Answer answer = client_->ask(operation, content, limit);
  if (answer.status() == Reply::kTimeout) {
    missing("multiGet", answer, limit);
  }
  return answer.values(keys.size());
}

void TCPStore::multiSet(const std::vector<std::string>& keys,
                        const std::vector<std::string>& values) {
  detail::requirePairs(client_->place(), keys, values);
  const std::string operation = "multiSet " + detail::quoted(keys);
  std::string content = begin(Request::kMultiSet, operation, keys);
  for (const std::string& value : values) {
    if (value.size() > detail::kLongestValue) {
      client_->tooLong(operation);
    }
    ByteWriter(content).text(value);
  }
  client_->ask(operation, content, timeout());
}

void TCPStore::watchKey(const std::string& key, WatchCallback callback) {
  const std::string operation = "watchKey " + detail::quoted({key});
  // A connection of its own, on which the server may send unasked from now on.
  auto socket = client_->subscribe(operation, begin(Request::kWatch, operation, key), timeout());
  std::lock_guard lock(mutex_);
  if (!watcher_) {
    watcher_ = std::make_unique<detail::TcpWatcher>(client_->place());
  }
  watcher_->watch(key, std::move(callback), std::move(socket));
}

}  // namespace lockstep::store
