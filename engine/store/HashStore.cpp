#include "engine/store/HashStore.h"

#include "engine/store/detail/Deadline.h"
#include "engine/store/detail/Errors.h"

namespace lockstep::store {
namespace {

constexpr const char* kPlace = "store in this process";

}  // namespace

void HashStore::set(const std::string& key, const std::string& value) {
  {
    std::lock_guard lock(mutex_);
    table_.set(key, value);
  }
  changed_.notify_all();
}

std::string HashStore::get(const std::string& key) {
  std::unique_lock lock(mutex_);
  waitLocked(lock, "get", {key}, timeout_);
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
    table_.set(key, std::to_string(result));
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
      table_.set(key, desired);
    }
  }
  changed_.notify_all();
  return comparison.value;
}

bool HashStore::deleteKey(const std::string& key) {
  std::lock_guard lock(mutex_);
  return table_.erase(key);
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

void HashStore::waitLocked(std::unique_lock<std::mutex>& lock, const std::string& operation,
                           const std::vector<std::string>& keys, Milliseconds timeout) {
  const detail::Deadline deadline(timeout);
  if (!changed_.wait_until(lock, deadline.at(), [&] { return table_.missing(keys).empty(); })) {
    throw detail::timeoutError(kPlace, operation, timeout, table_.missing(keys));
  }
}

Store::Milliseconds HashStore::timeout() const {
  std::lock_guard lock(mutex_);
  return timeout_;
}

void HashStore::setTimeout(Milliseconds timeout) {
  std::lock_guard lock(mutex_);
  timeout_ = timeout;
}

}  // namespace lockstep::store
