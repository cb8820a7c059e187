#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/posix/WakeUp.h"
#include "engine/store/Store.h"
#include "engine/store/detail/Socket.h"

namespace lockstep::store::detail {

/// Reads the notices of the keys that a TCPStore watches, each from a connection of its own, and
/// calls the callbacks on one thread, "store-watch". A server that closes a connection ends that
/// watch, which is logged. [any-thread]
class TcpWatcher {
 public:
  explicit TcpWatcher(std::string place);
  /// Waits for a running callback and drops the rest.
  ~TcpWatcher();
  TcpWatcher(const TcpWatcher&) = delete;
  TcpWatcher& operator=(const TcpWatcher&) = delete;

  /// Takes over a connection on which the server has accepted a kWatch.
  void watch(const std::string& key, Store::WatchCallback callback, posix::Descriptor socket);

 private:
  struct Watch {
    std::string key;
    Store::WatchCallback callback;
    posix::Descriptor socket;
    std::string input;
  };
  void run();
  void takeNewWatches();
  bool read(Watch& watch);
  bool tellAll(Watch& watch);
  [[nodiscard]] bool ending() const;

  const std::string place_;
  posix::WakeUp wake_;
  mutable std::mutex mutex_;  ///< guards what follows; not held while a callback runs
  std::vector<Watch> new_;
  bool ending_ = false;
  std::vector<Watch> watches_;  ///< the thread's alone
  std::thread thread_;
};

}  // namespace lockstep::store::detail
