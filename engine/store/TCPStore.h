#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/Store.h"

namespace lockstep::store {

namespace detail {
class Deadline;
class Descriptor;
class TcpServer;
enum class Request : std::uint8_t;
}  // namespace detail

struct TCPStoreOptions {
  static constexpr std::uint16_t kDefaultPort = 29500;

  std::uint16_t port = kDefaultPort;  ///< server: 0 takes a free one, see TCPStore::port()
  bool isServer = false;
  std::optional<int> numWorkers;  ///< stores of the job, the server's own among them
  bool waitForWorkers = true;     ///< server: the constructor returns once all have come
  Store::Milliseconds timeout = Store::kDefaultTimeout;
  bool multiTenant = false;  ///< server: share one server a port in this process; it
                             ///< lives as long as any store that shares it
};

/// A store served by one of the ranks over TCP, IPv4 or IPv6 (c10d::TCPStore). A client that
/// comes before its server tries again until the time limit. Every call ends: at its time limit,
/// which server and client both watch, or with a StoreError as soon as the server is gone.
/// A call that waits does not hold up others on the same store. [any-thread]
class TCPStore final : public Store {
 public:
  /// `host` is the server's name or address. A server listens on every address of its machine,
  /// or on the loopback alone when `host` is one. Throws StoreError.
  TCPStore(std::string host, const TCPStoreOptions& options);
  ~TCPStore() override;
  TCPStore(const TCPStore&) = delete;
  TCPStore& operator=(const TCPStore&) = delete;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  std::string compareSet(const std::string& key, const std::string& expected,
                         const std::string& desired) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  using Store::wait;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  [[nodiscard]] Milliseconds timeout() const override;
  void setTimeout(Milliseconds timeout) override;

  /// Returns the port in use, the one that was picked for port 0.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& host() const { return host_; }

 private:
  struct Answer;

  [[nodiscard]] std::string place() const;
  void joinWorkers(const TCPStoreOptions& options);
  [[nodiscard]] std::string begin(detail::Request request, const std::string& operation,
                                  const std::vector<std::string>& keys) const;
  [[noreturn]] void tooLong(const std::string& operation) const;
  Answer ask(const std::string& operation, std::string_view content, Milliseconds limit);
  [[nodiscard]] detail::Descriptor connect(const detail::Deadline& deadline,
                                           Milliseconds limit) const;
  detail::Descriptor borrow(const detail::Deadline& deadline, Milliseconds limit);
  std::string text(const std::string& operation, const Answer& answer) const;
  std::int64_t number(const std::string& operation, const Answer& answer) const;
  [[noreturn]] void malformed(const std::string& operation) const;

  std::string host_;
  std::uint16_t port_ = 0;
  bool joined_ = false;  ///< written by the constructor alone
  std::shared_ptr<detail::TcpServer> server_;
  mutable std::mutex mutex_;  ///< guards what follows; never held while talking to the server
  Milliseconds timeout_;
  std::vector<detail::Descriptor> idle_;  ///< connections no call uses now
};

}  // namespace lockstep::store
