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

  StoreResult call(StoreCall asked) override;
  void watchKey(const std::string& key, WatchCallback callback) override;

 private:
  struct Writer;
  void write(const std::string& key, std::optional<std::string> value);

  std::mutex mutex_;
  std::condition_variable changed_;
  detail::KeyTable table_;
  std::unique_ptr<detail::WatchQueue> watches_;  ///< from the first watchKey on
};

}  // namespace lockstep::store
