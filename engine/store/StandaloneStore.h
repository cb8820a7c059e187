#pragma once

#include <atomic>

#include "engine/store/Store.h"

namespace lockstep::store {

/// A store that is no view of another one: it has a time limit of its own, and the whole interface
/// but perhaps watchKey(). [any-thread]
class StandaloneStore : public Store {
 public:
  StandaloneStore(const StandaloneStore&) = delete;
  StandaloneStore& operator=(const StandaloneStore&) = delete;

  [[nodiscard]] bool hasExtendedApi() const final { return true; }
  [[nodiscard]] Milliseconds timeout() const final { return timeout_.load(); }
  void setTimeout(Milliseconds timeout) final { timeout_.store(timeout); }

 protected:
  explicit StandaloneStore(Milliseconds timeout) : timeout_(timeout) {}

 private:
  std::atomic<Milliseconds> timeout_;
};

}  // namespace lockstep::store
