#include "engine/store/HashStore.h"

#include <utility>

#include "engine/store/detail/Deadline.h"
#include "engine/store/detail/TableCalls.h"
#include "engine/store/detail/WatchQueue.h"

namespace lockstep::store {
namespace {

constexpr const char* kPlace = "store in this process";

}  // namespace

/// What changes the table. Under the mutex.
struct HashStore::Writer {
  HashStore& store;

  void set(const std::string& key, const std::string& value) { store.write(key, value); }
  void append(const std::string& key, const std::string& value) {
    const std::string* before = store.table_.find(key);
    store.write(key, (before == nullptr ? std::string() : *before) + value);
  }
  void erase(const std::string& key) { store.write(key, std::nullopt); }
};

HashStore::HashStore(Milliseconds timeout) : StandaloneStore(timeout) {}

HashStore::~HashStore() = default;

/// Writes the value, or deletes the key, and tells who watches it.
void HashStore::write(const std::string& key, std::optional<std::string> value) {
  // Under the same lock as the write, so that callbacks come in the order of the changes.
  if (watches_ && watches_->watches(key)) {
    const std::string* before = table_.find(key);
    watches_->changed(key, before == nullptr ? std::nullopt : std::optional(*before), value);
  }
  if (value) {
    table_.set(key, std::move(*value));
  } else {
    table_.erase(key);
  }
}

StoreResult HashStore::call(StoreCall asked) {
  std::unique_lock lock(mutex_);
  const auto missing = [&] { return detail::missing(asked, "", table_); };
  // Every change wakes all who wait, and each looks for its keys: ranks in one process are few.
  if (asked.waits() && !changed_.wait_until(lock, detail::Deadline(asked.timeout).at(),
                                            [&] { return missing().empty(); })) {
    throw detail::timeoutError(kPlace, asked.name(), asked.timeout, missing());
  }
  StoreResult result = detail::carryOut(asked, "", table_, kPlace, Writer{*this});
  lock.unlock();
  if (asked.writes()) {
    changed_.notify_all();
  }
  return result;
}

void HashStore::watchKey(const std::string& key, WatchCallback callback) {
  std::lock_guard lock(mutex_);
  if (!watches_) {
    watches_ = std::make_unique<detail::WatchQueue>(kPlace);
  }
  watches_->watch(key, std::move(callback));
}

}  // namespace lockstep::store
