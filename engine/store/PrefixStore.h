#pragma once

#include <memory>

#include "engine/store/Store.h"

namespace lockstep::store {

/// Puts "<prefix>/" before every key of another store, so that groups do not meet
/// (c10d::PrefixStore). Nests; time limits are those of the wrapped store, and so is the count
/// of keys. [any-thread] as far as the wrapped store is.
class PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> store);

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
  [[nodiscard]] bool hasExtendedApi() const override { return store_->hasExtendedApi(); }
  void append(const std::string& key, const std::string& value) override;
  std::vector<std::string> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::string>& values) override;
  void watchKey(const std::string& key, WatchCallback callback) override;
  [[nodiscard]] Milliseconds timeout() const override;
  void setTimeout(Milliseconds timeout) override;

  /// Returns the wrapped store.
  [[nodiscard]] const std::shared_ptr<Store>& underlying() const { return store_; }

 private:
  [[nodiscard]] std::string full(const std::string& key) const;
  [[nodiscard]] std::vector<std::string> full(const std::vector<std::string>& keys) const;

  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace lockstep::store
