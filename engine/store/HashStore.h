#pragma once

#include <condition_variable>
#include <mutex>

#include "engine/store/StandaloneStore.h"
#include "engine/store/detail/KeyTable.h"

namespace lockstep::store {

namespace detail {
class WatchQueue;
}

/// A store for ranks that are threads of one process (c10d::HashStore). [any-thread]
class HashStore final : public StandaloneStore {
 public:
  explicit HashStore(Milliseconds timeout = kDefaultTimeout);
  ~HashStore() override;

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
  void append(const std::string& key, const std::string& value) override;
  std::vector<std::string> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::string>& values) override;
  void watchKey(const std::string& key, WatchCallback callback) override;

 private:
  void writeLocked(const std::string& key, std::optional<std::string> value);
  void waitLocked(std::unique_lock<std::mutex>& lock, const std::string& operation,
                  const std::vector<std::string>& keys, Milliseconds timeout);

  std::mutex mutex_;
  std::condition_variable changed_;
  detail::KeyTable table_;
  std::unique_ptr<detail::WatchQueue> watches_;  ///< from the first watchKey on
};

}  // namespace lockstep::store
