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

  StoreResult call(StoreCall asked) override;
  [[nodiscard]] bool hasExtendedApi() const override { return store_->hasExtendedApi(); }
  void watchKey(const std::string& key, WatchCallback callback) override;
  [[nodiscard]] Milliseconds timeout() const override { return store_->timeout(); }
  void setTimeout(Milliseconds timeout) override { store_->setTimeout(timeout); }

  /// Returns the wrapped store.
  [[nodiscard]] const std::shared_ptr<Store>& underlying() const { return store_; }

 private:
  [[nodiscard]] std::string full(const std::string& key) const;

  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace lockstep::store
