#include "engine/store/HashStore.h"

#include <utility>

#include "engine/store/detail/Deadline.h"
#include "engine/store/detail/Errors.h"
#include "engine/store/detail/WatchQueue.h"

namespace lockstep::store {
namespace {

constexpr const char* kPlace = "store in this process";

}  // namespace

HashStore::HashStore(Milliseconds timeout) : StandaloneStore(timeout) {}

HashStore::~HashStore() = default;

/// Writes the value, or deletes the key, and tells who watches it.
void HashStore::writeLocked(const std::string& key, std::optional<std::string> value) {
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

void HashStore::set(const std::string& key, const std::string& value) {
  {
    std::lock_guard lock(mutex_);
    writeLocked(key, value);
  }
  changed_.notify_all();
}

std::string HashStore::get(const std::string& key) {
  std::unique_lock lock(mutex_);
  waitLocked(lock, "get", {key}, timeout());
  return *table_.find(key);
}

std::int64_t HashStore::add(const std::string& key, std::int64_t amount) {
  std::int64_t result = 0;
  {
    std::lock_guard lock(mutex_);
    const auto sum = table_.sum(key, amount);
    if (!sum) {
      throw detail::notANumber(kPlace, key, *table_.find(key));
    }
    result = *sum;
    writeLocked(key, std::to_string(result));
  }
  changed_.notify_all();
  return result;
}

std::string HashStore::compareSet(const std::string& key, const std::string& expected,
                                  const std::string& desired) {
  detail::KeyTable::Comparison comparison;
  {
    std::lock_guard lock(mutex_);
    comparison = table_.compare(key, expected, desired);
    if (comparison.writes) {
      writeLocked(key, desired);
    }
  }
  changed_.notify_all();
  return comparison.value;
}

bool HashStore::deleteKey(const std::string& key) {
  std::lock_guard lock(mutex_);
  // Nobody is woken: no call waits for a key to be gone.
  const bool existed = table_.find(key) != nullptr;
  if (existed) {
    writeLocked(key, std::nullopt);
  }
  return existed;
}

bool HashStore::check(const std::vector<std::string>& keys) {
  std::lock_guard lock(mutex_);
  return table_.missing(keys).empty();
}

std::int64_t HashStore::getNumKeys() {
  std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(table_.size());
}

void HashStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  waitLocked(lock, "wait", keys, timeout);
}

void HashStore::append(const std::string& key, const std::string& value) {
  {
    std::lock_guard lock(mutex_);
    const std::string* before = table_.find(key);
    writeLocked(key, (before == nullptr ? std::string() : *before) + value);
  }
  changed_.notify_all();
}

std::vector<std::string> HashStore::multiGet(const std::vector<std::string>& keys) {
  std::unique_lock lock(mutex_);
  waitLocked(lock, "multiGet", keys, timeout());
  return table_.values(keys);
}

void HashStore::multiSet(const std::vector<std::string>& keys,
                         const std::vector<std::string>& values) {
  detail::requirePairs(kPlace, keys, values);
  {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      writeLocked(keys[i], values[i]);
    }
  }
  changed_.notify_all();
}

void HashStore::watchKey(const std::string& key, WatchCallback callback) {
  std::lock_guard lock(mutex_);
  if (!watches_) {
    watches_ = std::make_unique<detail::WatchQueue>(kPlace);
  }
  watches_->watch(key, std::move(callback));
}

void HashStore::waitLocked(std::unique_lock<std::mutex>& lock, const std::string& operation,
                           const std::vector<std::string>& keys, Milliseconds timeout) {
  const detail::Deadline deadline(timeout);
  // Every change wakes all who wait, and each looks for its keys: ranks in one process are few.
  if (!changed_.wait_until(lock, deadline.at(), [&] { return table_.missing(keys).empty(); })) {
    throw detail::timeoutError(kPlace, operation, timeout, table_.missing(keys));
  }
}

}  // namespace lockstep::store
