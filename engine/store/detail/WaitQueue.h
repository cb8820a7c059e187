#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/store/detail/KeyTable.h"
#include "engine/store/detail/Wire.h"

namespace lockstep::store::detail {

/// A request that cannot be answered yet.
struct Waiter {
  Request request{};  ///< kGet, kWait or kWaitAtLeast
  std::vector<std::string> keys;
  std::int64_t atLeast = 0;
  std::chrono::steady_clock::time_point deadline;
};

/// The requests that wait for keys, by the id of their connection. A waiter stands in the queue
/// of one key it misses; when that key changes it is looked at anew. One thread.
class WaitQueue {
 public:
  using Id = std::uint64_t;
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit WaitQueue(const KeyTable& table) : table_(table) {}

  /// Returns whether the waiter has what it waits for.
  [[nodiscard]] bool satisfied(const Waiter& waiter) const { return !blocker(waiter); }

  void add(Id id, Waiter waiter);
  void remove(Id id);

  /// Takes out and returns the waiters that a change of `key` satisfies.
  std::vector<std::pair<Id, Waiter>> keyChanged(const std::string& key);

  /// Takes out and returns the waiters whose deadline has passed.
  std::vector<std::pair<Id, Waiter>> expired(TimePoint now);

  [[nodiscard]] std::optional<TimePoint> nextDeadline() const;

 private:
  struct Entry {
    Waiter waiter;
    std::string blocker;
  };
  [[nodiscard]] std::optional<std::string> blocker(const Waiter& waiter) const;
  Waiter take(Id id);

  const KeyTable& table_;
  std::unordered_map<Id, Entry> waiters_;
  std::unordered_map<std::string, std::set<Id>> byKey_;
  std::set<std::pair<TimePoint, Id>> byDeadline_;
};

}  // namespace lockstep::store::detail
