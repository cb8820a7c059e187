#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/store/StandaloneStore.h"

namespace lockstep::store {

namespace detail {
class TcpClient;
class TcpServer;
class TcpWatcher;
}  // namespace detail

struct TCPStoreOptions {
  static constexpr std::uint16_t kDefaultPort = 29500;

  std::uint16_t port = kDefaultPort;  ///< server: 0 takes a free one, see TCPStore::port()
  bool isServer = false;
  std::string listenAddress;      ///< server: an address of its machine; empty: as `host` says
  std::optional<int> numWorkers;  ///< stores of the job, the server's own among them
  bool waitForWorkers = true;     ///< server: the constructor returns once all have come
  Store::Milliseconds timeout = Store::kDefaultTimeout;
  /// The server turns away whoever does not open with it; "" = whoever comes is taken.
  std::string token;
  bool multiTenant = false;  ///< server: share one server a port in this process; it
                             ///< lives as long as any store that shares it
};

/// A store served by one of the ranks over TCP, IPv4 or IPv6 (c10d::TCPStore). A client that
/// comes before its server tries again until the time limit. Every call ends: at its time limit,
/// which server and client both watch, or with a StoreError as soon as the server is gone.
/// A call that waits does not hold up others on the same store. Keys and values are 256 MiB at
/// most. [any-thread]
class TCPStore final : public StandaloneStore {
 public:
  /// `host` is the server's name or address. A server listens at options.listenAddress; without
  /// one, on every address of its machine, or on the loopback alone when `host` is one. Throws
  /// StoreError.
  TCPStore(std::string host, const TCPStoreOptions& options);
  ~TCPStore() override;

  StoreResult call(StoreCall asked) override;
  void watchKey(const std::string& key, WatchCallback callback) override;

  /// Returns the port in use, the one that was picked for port 0.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& host() const { return host_; }

 private:
  void joinWorkers(const TCPStoreOptions& options);
  [[nodiscard]] std::string stored(const std::string& operation, const std::string& key) const;

  const std::string host_;
  std::uint16_t port_ = 0;
  std::shared_ptr<detail::TcpServer> server_;
  std::unique_ptr<detail::TcpClient> client_;
  std::mutex mutex_;  ///< guards what follows; never held while talking to the server
  std::unique_ptr<detail::TcpWatcher> watcher_;  ///< from the first watchKey on
};

}  // namespace lockstep::store
