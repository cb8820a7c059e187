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

std::vector<std::string> PrefixStore::full(const std::vector<std::string>& keys) const {
  std::vector<std::string> result;
  result.reserve(keys.size());
  for (const std::string& key : keys) {
    result.push_back(full(key));
  }
  return result;
}

void PrefixStore::set(const std::string& key, const std::string& value) {
  store_->set(full(key), value);
}

std::string PrefixStore::get(const std::string& key) {
  return store_->get(full(key));
}

std::int64_t PrefixStore::add(const std::string& key, std::int64_t amount) {
  return store_->add(full(key), amount);
}

std::string PrefixStore::compareSet(const std::string& key, const std::string& expected,
                                    const std::string& desired) {
  return store_->compareSet(full(key), expected, desired);
}

bool PrefixStore::deleteKey(const std::string& key) {
  return store_->deleteKey(full(key));
}

bool PrefixStore::check(const std::vector<std::string>& keys) {
  return store_->check(full(keys));
}

std::int64_t PrefixStore::getNumKeys() {
  return store_->getNumKeys();
}

void PrefixStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  store_->wait(full(keys), timeout);
}

void PrefixStore::append(const std::string& key, const std::string& value) {
  store_->append(full(key), value);
}

std::vector<std::string> PrefixStore::multiGet(const std::vector<std::string>& keys) {
  return store_->multiGet(full(keys));
}

void PrefixStore::multiSet(const std::vector<std::string>& keys,
                           const std::vector<std::string>& values) {
  store_->multiSet(full(keys), values);
}

void PrefixStore::watchKey(const std::string& key, WatchCallback callback) {
  store_->watchKey(full(key), std::move(callback));
}

Store::Milliseconds PrefixStore::timeout() const {
  return store_->timeout();
}

void PrefixStore::setTimeout(Milliseconds timeout) {
  store_->setTimeout(timeout);
}

}  // namespace lockstep::store
