#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/Check.h"
#include "engine/process_group/operation/Drain.h"
#include "engine/process_group/operation/Ledger.h"

namespace lockstep::process_group {

/// The calls of one group on this rank, and what guards them: what every backend's own dispatcher
/// is made of. `Open` derives from OpenCall. [any-thread]
template <typename Open>
class GroupCalls {
 public:
  using OpenPtr = std::shared_ptr<Open>;

  virtual ~GroupCalls() = default;
  GroupCalls(const GroupCalls&) = delete;
  GroupCalls& operator=(const GroupCalls&) = delete;

  /// Of the last collective.
  [[nodiscard]] std::uint64_t sequence() const {
    std::lock_guard lock(mutex_);
    return ledger_.sequence();
  }
  /// What the failure that broke the group was.
  [[nodiscard]] GroupState state() const {
    std::lock_guard lock(mutex_);
    return ledger_.state();
  }
  /// As ProcessGroup::moved(), of a backend that cannot see it.
  [[nodiscard]] bool moved() const { return false; }
  /// What has broken the group; no text while it works.
  [[nodiscard]] Failure whyBroken() const {
    std::lock_guard lock(mutex_);
    return ledger_.broken();
  }
  /// Of a failure that spares every collective that was called before it.
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  [[nodiscard]] const Member& member() const { return member_; }
  [[nodiscard]] const Records& records() const { return records_; }

 protected:
  using Clock = OpenCall::Clock;
  using Lock = std::unique_lock<std::mutex>;

  /// The lane `queueLane` shows when calls are made.
  GroupCalls(Member member, const std::string& queueLane)
      : member_(std::move(member)), records_(member_, queueLane), ledger_(member_, records_) {}

  /// What Work::abort() does where nobody else need hear of a send or receive that is given up: the
  /// other rank's part may still come. A collective fails by `fail`.
  template <typename Fail>
  static std::function<void(const OpenPtr&)> abortBy(Fail fail) {
    return [fail = std::move(fail)](const OpenPtr& open) {
      if (isDirect(open->call.operation)) {
        open->abandoned.store(true);
      } else {
        fail(open, Failure{"aborted by its caller", -1, CommErrorKind::kAborted});
      }
    };
  }

  /// Numbers a call and enters it, as Ledger::enter; `more` is what Open's constructor takes beside
  /// call and limit. With the mutex held.
  template <typename... More>
  OpenPtr enter(Call call, std::vector<at::Tensor> outputs, std::chrono::milliseconds limit,
                std::function<void(const OpenPtr&)> abort,
                std::function<std::string(const Open&)> waitingFor, More&&... more) {
    ledger_.number(call);
    auto open = std::make_shared<Open>(std::move(call), limit, std::forward<More>(more)...);
    ledger_.enter(open, std::move(outputs), std::move(abort), std::move(waitingFor));
    return open;
  }

  /// Whether a call has come to a broken group; its work has failed then, and the lock is given up.
  static bool refused(const OpenPtr& open, Lock& lock) {
    const bool failed = open->failed();
    if (failed) {
      lock.unlock();
      open->work->fail(open->error());
    }
    return failed;
  }

  /// Ends a call in which nothing moves any more, well or by its failure; callbacks run. `lane`
  /// shows it if it was under way: the calling thread's own, or one that is written here only,
  /// under the mutex; null: it is not to be shown. Returns whether it has ended well, which only
  /// the first call can say.
  bool end(const OpenPtr& open, trace::Lane* lane);
  /// A call is about to end well.
  virtual void endsWell(const Open&) {}

  /// Returns once all calls before `open` are complete, or it has failed.
  void waitForEarlier(const Open& open) const;

  /// Waits up to five seconds for `over`; returns whether all but what is abandoned has ended.
  template <typename Over>
  bool drained(Over over) {
    Lock lock(mutex_);
    changed_.wait_for(lock, kDrain, over);
    return ledger_.onlyAbandoned();
  }

  /// Those in flight that are `wanted`, in the order of the calls.
  template <typename Wanted>
  [[nodiscard]] std::vector<OpenPtr> openCalls(Wanted wanted) const {
    std::lock_guard lock(mutex_);
    std::vector<OpenPtr> found;
    for (const auto& [entry, open] : ledger_.calls()) {
      if (wanted(*open)) {
        found.push_back(open);
      }
    }
    return found;
  }
  [[nodiscard]] std::vector<OpenPtr> openCalls() const {
    return openCalls([](const Open&) { return true; });
  }

  /// A group that is destroyed waits for threads of its own; it cannot be on one of them.
  void mustNotBeOn(bool ownThread) const {
    LOCKSTEP_CHECK(!ownThread, "process group {} was destroyed from a callback of its own work",
                   member_.group);
  }

  const Member member_;
  const Records records_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // calls have ended or failed
  Ledger<Open> ledger_;
};

template <typename Open>
bool GroupCalls<Open>::end(const OpenPtr& open, trace::Lane* lane) {
  bool failed = false;
  {
    std::lock_guard lock(mutex_);
    if (open->ended) {
      return false;
    }
    failed = open->failed();
    ledger_.end(*open);
    if (lane != nullptr) {
      records_.ended(*open, *lane);
    }
  }
  if (failed) {
    open->work->fail(open->error());
  } else {
    endsWell(*open);
    open->work->succeed();
  }
  {
    std::lock_guard lock(mutex_);
    ledger_.remove(*open);
  }
  changed_.notify_all();
  return !failed;
}

template <typename Open>
void GroupCalls<Open>::waitForEarlier(const Open& open) const {
  constexpr std::chrono::milliseconds kPoll{50};
  std::vector<std::shared_ptr<WorkState>> earlier;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [entry, other] : ledger_.calls()) {
      if (entry < open.entry && !other->abandoned.load()) {
        earlier.push_back(other->work);
      }
    }
  }
  // A work is complete before its callbacks run, which may wait for this very operation.
  for (const auto& work : earlier) {
    while (!open.failed() && !work->future().waitFor(kPoll)) {
    }
  }
}

}  // namespace lockstep::process_group
