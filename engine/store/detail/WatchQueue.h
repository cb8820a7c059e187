#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/store/Store.h"

namespace lockstep::store::detail {

/// Calls `callback`; what it throws is logged, with the place and the key.
void tellOfChange(const std::string& place, const std::string& key,
                  const Store::WatchCallback& callback, const std::optional<std::string>& before,
                  const std::optional<std::string>& after);

/// The watched keys of a HashStore and the thread, "store-watch", that tells of their changes in
/// the order in which they were reported. [any-thread]
class WatchQueue {
 public:
  explicit WatchQueue(std::string place);
  /// Waits for a running callback and drops the rest.
  ~WatchQueue();
  WatchQueue(const WatchQueue&) = delete;
  WatchQueue& operator=(const WatchQueue&) = delete;

  void watch(const std::string& key, Store::WatchCallback callback);
  [[nodiscard]] bool watches(const std::string& key) const;
  void changed(const std::string& key, std::optional<std::string> before,
               std::optional<std::string> after);

 private:
  using Callback = std::shared_ptr<const Store::WatchCallback>;
  struct Change {
    std::string key;
    std::optional<std::string> before;
    std::optional<std::string> after;
    std::vector<Callback> callbacks;  ///< of those who watched when it happened
  };
  void run();

  const std::string place_;
  mutable std::mutex mutex_;  ///< guards what follows; not held while a callback runs
  std::condition_variable wake_;
  std::unordered_map<std::string, std::vector<Callback>> callbacks_;
  std::deque<Change> changes_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace lockstep::store::detail
