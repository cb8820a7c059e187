#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/process_group/MomentToEnd.h"
#include "engine/process_group/operation/OpenCall.h"
#include "engine/process_group/operation/Records.h"

namespace lockstep::process_group {

/// The calls of one group on this rank, from the call until callbacks have run: numbers them, knows
/// whether the group is broken, and says in the rank's last words which call has been open longest.
/// `Open` derives from OpenCall. [under the group's mutex]
template <typename Open>
class Ledger {
 public:
  using OpenPtr = std::shared_ptr<Open>;
  using Calls = std::map<std::uint64_t, OpenPtr>;  ///< by OpenCall::entry

  /// Both outlive this.
  Ledger(const Member& member, const Records& records) : member_(member), records_(records) {}

  /// Takes the next sequence number for a call; sends and receives are numbered apart.
  void number(Call& call) {
    call.sequence = isDirect(call.operation) ? ++directSequence_ : ++sequence_;
    records_.called(call);
  }
  /// Of the last collective.
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }

  /// Makes the work of a numbered call, which ends with `outputs`, and puts the call among those in
  /// flight; when the group is broken it fails instead. `abort` and `waitingFor` are WorkState's
  /// and called without the mutex; the latter may be empty.
  void enter(const OpenPtr& open, std::vector<at::Tensor> outputs,
             std::function<void(const OpenPtr&)> abort,
             std::function<std::string(const Open&)> waitingFor);

  [[nodiscard]] const Calls& calls() const { return calls_; }
  /// Nothing moves in it any more; its callbacks are yet to run.
  void end(Open& open) {
    open.ended = true;
    if (!open.failed()) {
      moment.renew();
    }
    updateLastWords();
  }
  void remove(const Open& open) {
    calls_.erase(open.entry);
    updateLastWords();
  }

  /// The first failure counts; returns whether this one is.
  bool breakBy(const Failure& failure) {
    if (isBroken()) {
      return false;
    }
    broken_ = failure;
    return true;
  }
  [[nodiscard]] bool isBroken() const { return !broken_.what.empty(); }
  [[nodiscard]] const Failure& broken() const { return broken_; }
  [[nodiscard]] GroupState state() const {
    return isBroken() ? stateAfter(broken_.kind) : GroupState::kSuccess;
  }
  MomentToEnd moment;  ///< of what a broken group spares

  [[nodiscard]] bool onlyAbandoned() const {
    return std::all_of(calls_.begin(), calls_.end(),
                       [](const auto& entry) { return entry.second->abandoned.load(); });
  }
  /// Whether a broken group has calls that may still end well.
  [[nodiscard]] bool spares() const {
    return std::any_of(calls_.begin(), calls_.end(), [](const auto& entry) {
      return !entry.second->failed() && !entry.second->ended;
    });
  }

  void updateLastWords() {
    const auto first = std::find_if(calls_.begin(), calls_.end(), [](const auto& entry) {
      return !entry.second->ended && !entry.second->abandoned.load();
    });
    const std::uint64_t oldest = first == calls_.end() ? 0 : first->first;
    if (oldest != oldest_) {
      oldest_ = oldest;
      tellOldest(records_.tracer().lastWords(), oldest == 0 ? nullptr : &first->second->call);
    }
  }

 private:
  const Member& member_;
  const Records& records_;
  Calls calls_;
  std::uint64_t entries_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t directSequence_ = 0;
  std::uint64_t oldest_ = 0;  // entry of the call in the last words
  Failure broken_;            // no text while the group works
};

template <typename Open>
void Ledger<Open>::enter(const OpenPtr& open, std::vector<at::Tensor> outputs,
                         std::function<void(const OpenPtr&)> abort,
                         std::function<std::string(const Open&)> waitingFor) {
  CommError::Where where;
  where.group = member_.group;
  where.rank = member_.rank;
  where.operation = open->call.operation;
  where.sequence = open->call.sequence;
  where.groupNumber = member_.groupNumber;
  where.bucket = open->call.options.bucket;
  WorkState::Backend backend;
  backend.abort = [weak = std::weak_ptr(open), abort = std::move(abort)] {
    if (const auto open = weak.lock()) {
      abort(open);
    }
  };
  backend.waitingFor = [weak = std::weak_ptr(open), waitingFor = std::move(waitingFor)] {
    const auto open = waitingFor ? weak.lock() : nullptr;
    return open != nullptr ? waitingFor(*open) : std::string();
  };
  open->work = std::make_shared<WorkState>(std::move(where), std::move(outputs), open->limit,
                                           std::move(backend));
  if (isBroken()) {
    open->fail(Failure{"the group is broken: " + broken_.what, -1, broken_.kind});
    return;
  }
  open->entry = ++entries_;
  calls_[open->entry] = open;
  updateLastWords();
}

}  // namespace lockstep::process_group
