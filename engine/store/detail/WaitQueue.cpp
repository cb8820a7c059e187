#include "engine/store/detail/WaitQueue.h"

namespace lockstep::store::detail {

/// Returns the first key the waiter still waits for.
std::optional<std::string> WaitQueue::blocker(const Waiter& waiter) const {
  for (const std::string& key : waiter.keys) {
    if (table_.find(key) == nullptr) {
      return key;
    }
  }
  if (waiter.request == Request::kWaitAtLeast) {
    const auto number = table_.sum(waiter.keys.front(), 0);
    if (!number || *number < waiter.atLeast) {
      return waiter.keys.front();
    }
  }
  return std::nullopt;
}

void WaitQueue::add(Id id, Waiter waiter) {
  // Under one key of those it misses: until that one is set, all others may change as they like.
  const std::string key = blocker(waiter).value_or(std::string());
  byKey_[key].insert(id);
  byDeadline_.emplace(waiter.deadline, id);
  waiters_.emplace(id, Entry{std::move(waiter), key});
}

Waiter WaitQueue::take(Id id) {
  const auto found = waiters_.find(id);
  Entry entry = std::move(found->second);
  waiters_.erase(found);
  const auto queue = byKey_.find(entry.blocker);
  queue->second.erase(id);
  if (queue->second.empty()) {
    byKey_.erase(queue);
  }
  byDeadline_.erase({entry.waiter.deadline, id});
  return std::move(entry.waiter);
}

void WaitQueue::remove(Id id) {
  if (waiters_.contains(id)) {
    take(id);
  }
}

std::vector<std::pair<WaitQueue::Id, Waiter>> WaitQueue::keyChanged(const std::string& key) {
  std::vector<std::pair<Id, Waiter>> ready;
  const auto queue = byKey_.find(key);
  if (queue == byKey_.end()) {
    return ready;
  }
  // A copy, as each is taken out, and put back where it waits on: perhaps for this very key, whose
  // number is not large enough yet.
  const std::set<Id> ids = queue->second;
  for (const Id id : ids) {
    Waiter waiter = take(id);
    if (satisfied(waiter)) {
      ready.emplace_back(id, std::move(waiter));
    } else {
      add(id, std::move(waiter));
    }
  }
  return ready;
}

std::vector<std::pair<WaitQueue::Id, Waiter>> WaitQueue::expired(TimePoint now) {
  std::vector<std::pair<Id, Waiter>> late;
  while (!byDeadline_.empty() && byDeadline_.begin()->first <= now) {
    const Id id = byDeadline_.begin()->second;
    late.emplace_back(id, take(id));
  }
  return late;
}

std::optional<WaitQueue::TimePoint> WaitQueue::nextDeadline() const {
  return byDeadline_.empty() ? std::nullopt : std::optional(byDeadline_.begin()->first);
}

}  // namespace lockstep::store::detail
