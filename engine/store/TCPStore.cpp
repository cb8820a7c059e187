#include "engine/store/TCPStore.h"

#include <fmt/format.h>

#include <array>
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

/// What asks for each verb, and whether it has a list of keys.
constexpr std::array<std::pair<Request, bool>, 11> kRequests{{{Request::kSet, false},
                                                              {Request::kGet, false},
                                                              {Request::kAdd, false},
                                                              {Request::kCompareSet, false},
                                                              {Request::kDelete, false},
                                                              {Request::kCheck, true},
                                                              {Request::kNumKeys, false},
                                                              {Request::kWait, true},
                                                              {Request::kAppend, false},
                                                              {Request::kMultiGet, true},
                                                              {Request::kMultiSet, true}}};

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

/// A key as it goes over the wire.
std::string TCPStore::stored(const std::string& operation, const std::string& key) const {
  if (key.size() >= detail::kLongestKey) {
    client_->tooLong(operation);
  }
  return "/" + key;
}

StoreResult TCPStore::call(StoreCall asked) {
  const std::string operation =
      asked.verb == Verb::kGetNumKeys
          ? asked.name()
          : fmt::format("{} {}", asked.verb == Verb::kWait ? "wait for" : asked.name(),
                        detail::quoted(asked.keys));
  if (asked.verb == Verb::kMultiSet) {
    detail::requirePairs(client_->place(), asked.keys, asked.values);
  }
  const auto [request, takesKeys] = kRequests.at(static_cast<std::size_t>(asked.verb));
  std::string content = only(request);
  ByteWriter fields(content);
  if (asked.keys.size() > detail::kMostKeys) {
    client_->tooLong(operation);
  }
  std::vector<std::string> keys;
  for (const std::string& key : asked.keys) {
    keys.push_back(stored(operation, key));
  }
  if (takesKeys) {
    fields(keys);
  } else if (!keys.empty()) {
    fields.text(keys.front());
  }
  for (const std::string& value : asked.values) {
    if (value.size() > detail::kLongestValue) {
      client_->tooLong(operation);
    }
    fields.text(value);
  }
  if (asked.waits() || asked.verb == Verb::kAdd) {
    fields.put<std::int64_t>(asked.waits() ? asked.timeout.count() : asked.amount);
  }
  const Answer answer = client_->ask(operation, content, asked.waits() ? asked.timeout : timeout());
  if (answer.status() == Reply::kNotANumber) {
    throw detail::notANumber(client_->place(), asked.keys.front(), answer.text());
  }
  if (answer.status() == Reply::kTimeout) {
    std::vector<std::string> missing = answer.keys();
    for (std::string& key : missing) {
      key.erase(0, 1);  // what stored() put before it
    }
    throw detail::timeoutError(client_->place(), asked.name(), asked.timeout, missing);
  }
  switch (asked.verb) {
    case Verb::kGet:
    case Verb::kCompareSet: return {{answer.text()}};
    case Verb::kMultiGet: return {answer.values(asked.keys.size())};
    case Verb::kAdd:
    case Verb::kDeleteKey:
    case Verb::kCheck:
    case Verb::kGetNumKeys: return {{}, answer.number()};
    default: return {};
  }
}

void TCPStore::watchKey(const std::string& key, WatchCallback callback) {
  const std::string operation = "watchKey " + detail::quoted({key});
  std::string content = only(Request::kWatch);
  ByteWriter(content).text(stored(operation, key));
  // A connection of its own, on which the server may send unasked from now on.
  auto socket = client_->subscribe(operation, content, timeout());
  std::lock_guard lock(mutex_);
  if (!watcher_) {
    watcher_ = std::make_unique<detail::TcpWatcher>(client_->place());
  }
  watcher_->watch(key, std::move(callback), std::move(socket));
}

}  // namespace lockstep::store
