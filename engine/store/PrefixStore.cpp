#include "engine/store/PrefixStore.h"

#include <utility>

#include "engine/base/Check.h"

namespace lockstep::store {

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : prefix_(std::move(prefix)), store_(std::move(store)) {
  LOCKSTEP_CHECK(store_ != nullptr, "PrefixStore '{}' without a store", prefix_);
}

std::string PrefixStore::full(const std::string& key) const {
  return prefix_ + "/" + key;
}

StoreResult PrefixStore::call(StoreCall asked) {
  for (std::string& key : asked.keys) {
    key = full(key);
  }
  return store_->call(std::move(asked));
}

void PrefixStore::watchKey(const std::string& key, WatchCallback callback) {
  store_->watchKey(full(key), std::move(callback));
}

}  // namespace lockstep::store
