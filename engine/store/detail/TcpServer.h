#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/base/posix/EventLoop.h"
#include "engine/base/posix/WakeUp.h"
#include "engine/store/detail/KeyService.h"
#include "engine/store/detail/Socket.h"

namespace lockstep::store::detail {

/// The server of a TCPStore: one thread, "store-server", that waits in epoll for all clients.
/// Clients may come, go and send anything; it ends when the object does. [any-thread]
/// Note [One thread for all clients] in the .cpp.
class TcpServer {
 public:
  /// Listens and starts the thread; throws StoreError when the port cannot be had.
  TcpServer(const std::string& host, std::uint16_t port, const std::string& listenAddress,
            const std::string& token);
  ~TcpServer();
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return listener_.port; }

 private:
  using Id = KeyService::Id;

  enum class State {
    kAsks,     ///< sends requests
    kWaits,    ///< has sent a request that waits for a key
    kWatches,  ///< listens
  };

  struct Connection {
    posix::Descriptor socket;
    std::string input;
    std::string output;  ///< of which `sent` bytes are gone
    std::size_t sent = 0;
    bool greeted = false;
    State state = State::kAsks;
    std::uint32_t interest = 0;
  };

  void serve();
  void watch(int fd, std::uint32_t interest, std::function<void(std::uint32_t)> happened);
  void acceptAll();
  void handle(Id id, std::uint32_t events);
  bool readInput(Connection& connection);
  bool advance(Id id, Connection& connection);
  bool takeHello(Connection& connection);
  bool execute(Id id, Connection& connection, std::string_view content);
  void sendToOthers();
  void deliver(Id current);
  static bool overflows(const Connection& connection);
  bool flush(Connection& connection);
  void setInterest(Connection& connection, std::uint32_t events);
  void drop(Id id);

  const std::string hello_;  ///< what a client opens with
  Listener listener_;
  posix::EventLoop loop_;
  posix::WakeUp wake_;
  bool ending_ = false;  ///< the thread's alone
  posix::Descriptor
      spare_;  ///< given up for a moment to turn a client away when descriptors run out
  Id nextId_ = 1;
  KeyService service_;
  std::unordered_map<Id, Connection> connections_;
  std::vector<Id> toSend_;  ///< connections whose output has to be sent
  std::thread thread_;
};

}  // namespace lockstep::store::detail
