#pragma once

#include <condition_variable>
#include <mutex>

#include "engine/store/Store.h"
#include "engine/store/detail/KeyTable.h"

namespace lockstep::store {

/// A store for ranks that are threads of one process (c10d::HashStore). [any-thread]
class HashStore final : public Store {
 public:
  explicit HashStore(Milliseconds timeout = kDefaultTimeout) : timeout_(timeout) {}

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

 private:
  void waitLocked(std::unique_lock<std::mutex>& lock, const std::string& operation,
                  const std::vector<std::string>& keys, Milliseconds timeout);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  detail::KeyTable table_;
  Milliseconds timeout_;
};

}  // namespace lockstep::store
