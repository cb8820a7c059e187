#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/Thread.h"
#include "engine/process_group/Blame.h"
#include "engine/process_group/operation/GroupCalls.h"
#include "engine/process_group/operation/NoticedCall.h"

namespace lockstep::process_group {

/// The calls of a group whose ranks tell each other through the store what is wrong, and a thread
/// that watches them: time limits, ranks that are gone, calls that differ. `Open` derives from
/// NoticedCall. [any-thread]
template <typename Open>
class WatchedCalls : public GroupCalls<Open> {
 protected:
  /// `backend` opens the keys in the store, and the names of lanes.
  WatchedCalls(Member member, const std::string& backend, std::shared_ptr<store::Store> store)
      : GroupCalls<Open>(std::move(member), backend + " queue"),
        notices_(std::move(store), backend + "/" + this->member_.group, this->member_.rank,
                 this->member_.size) {}

  /// Looks after what is in flight, every 50 ms. [watch-thread]
  virtual void look() = 0;

  void startWatch(const std::string& name) {
    watch_ = std::thread([this, name] {
      base::nameThisThread(name);
      watchLoop();
    });
  }
  void stopWatch() {
    {
      std::lock_guard lock(this->mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    watch_.join();
  }

  /// Tells the others why this rank gives up, before its end can reach them; waits half a second
  /// at most.
  void announce(const Failure& reason) {
    if (this->member_.size > 1) {
      notices_.announce(reason, std::chrono::milliseconds(500));
    }
  }
  /// What the others have said of that, and of whom they waited for.
  [[nodiscard]] Blame blameOfOthers() {
    return blameOf(notices_.reasons(std::chrono::milliseconds(300)), this->member_.rank);
  }
  /// Asks what the others have called, and where they are. Only the oldest is what this rank is
  /// stuck in; the others wait behind it. [watch-thread]
  void ask(const std::shared_ptr<Open>& open, bool oldest, int peer) {
    NoticedCall::ask(open, notices_, oldest ? std::optional(peer) : std::nullopt);
  }
  /// That the time of a call has passed, and whom this rank waits for in the end if for `peer`.
  [[nodiscard]] Failure late(const Open& open, const std::string& text, int peer) const {
    const Blame blame = blameForWaiting(open.told(), this->member_.rank, this->member_.size, peer);
    return Failure{text + blame.text, blame.culprit, CommErrorKind::kTimeout};
  }

  static constexpr std::chrono::milliseconds kTick{50};

  NoticeBoard notices_;
  std::condition_variable wake_;  // of the watch
  bool stopping_ = false;

 private:
  void watchLoop() {
    constexpr std::chrono::milliseconds kIdleTick{250};
    std::unique_lock lock(this->mutex_);
    while (!stopping_) {
      wake_.wait_for(lock, this->ledger_.calls().empty() ? kIdleTick : kTick);
      if (!stopping_ && !this->ledger_.calls().empty()) {
        lock.unlock();
        look();
        lock.lock();
      }
    }
  }

  std::thread watch_;
};

}  // namespace lockstep::process_group
