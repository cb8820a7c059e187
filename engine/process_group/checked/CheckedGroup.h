#pragma once

#include <c10/core/Stream.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/Request.h"
#include "engine/process_group/WorkState.h"
#include "engine/process_group/checked/CheckRecord.h"
#include "engine/trace/Tracer.h"

namespace lockstep::process_group {

// Note [Checks]
// c10d's wrapper blocks the caller for a barrier and an allgather of the call's description.
// Here nobody blocks: a call is queued, its record of 64 bytes is gathered over a group that
// serves the checks alone, and the completion of that gather makes the call on the inner group,
// so that calls still overlap with the backward. One check is in flight at a time: whether a
// call is compared must not depend on how far a rank has come, so it is decided by the records
// of the call before, which all ranks have seen.
// On a device a call takes effect behind what its caller has queued, so that it is made on the
// stream that was current at the call.

/// Compares each collective across the ranks before its data moves. Calls that differ in
/// sequence number, operation, reduce operation, root, bucket, dtypes, shapes or split sizes
/// fail on every rank with the same text (CommErrorKind::kMismatch), which names what differs
/// with all values and ranks; tensors are as they were, and the group goes on. That call has no
/// number in the inner group, whose events count on without it.
///
/// A rank that does not come is named with the last call that it took part in; that breaks this
/// group and aborts the inner one. send and recv pass unchecked. With kFirst the comparison
/// ends, on all ranks at the same call, after one in which a rank's CallOptions::step has
/// reached `steps`; from then on calls go to the inner group at no cost.
///
/// Events: a kChecked span a comparison, in the lane "check", from the time this rank's turn
/// came to the time all records were there, waiting for other ranks included, as in kCollective.
/// What the check itself costs a call is the part after the last rank's turn came, since the call
/// waits for that rank in any case: analysis::CheckCost tells the two apart.
class CheckedGroup final : public ProcessGroup {
 public:
  struct Options {
    CheckMode mode = CheckMode::kFirst;
    std::uint32_t steps = 10;
    trace::Tracer* tracer = nullptr;  ///< outlives the group; null records nothing
    std::uint8_t groupNumber = 0;     ///< in events
  };

  /// `checks` has the ranks of `inner` and is used by nobody else; its calls go one at a time.
  /// Throws std::invalid_argument when rank or size differ.
  CheckedGroup(std::shared_ptr<ProcessGroup> inner, std::shared_ptr<ProcessGroup> checks,
               Options options);
  /// Lets operations in flight finish for up to five seconds. Not from a callback of its own.
  ~CheckedGroup() override;

  [[nodiscard]] ProcessGroup& inner() { return *inner_; }

  [[nodiscard]] std::string backendName() const override { return inner_->backendName(); }
  at::Tensor allocate(std::int64_t bytes) override { return inner_->allocate(bytes); }
  [[nodiscard]] std::uint64_t sequenceNumber() const override;
  [[nodiscard]] std::chrono::milliseconds timeout() const override { return inner_->timeout(); }
  void setTimeout(std::chrono::milliseconds timeout) override { inner_->setTimeout(timeout); }
  void abort(const std::string& reason) override;
  [[nodiscard]] GroupState state() const override;

 protected:
  WorkPtr start(Request request) override;

 private:
  using Gathered = base::Future<std::vector<at::Tensor>>;
  struct Pending {
    Request request;
    std::shared_ptr<WorkState> work;
    std::chrono::milliseconds limit{};
    std::optional<c10::Stream> stream;  ///< its caller's, of the tensors' device
  };

  void pump();
  void startCheck();
  void leaveLastWords();
  void recordsGathered(const Gathered& gathered);
  void judge(const Gathered& gathered);
  void gatherDetails(checked::Field field, std::vector<checked::CheckRecord> records);
  void issueCurrent();
  void passBarrier(std::uint64_t sequence, const std::shared_ptr<WorkState>& work);
  void refuse(checked::Field field, const std::vector<checked::CheckRecord>& records,
              const std::vector<std::string>& texts);
  void checkFailed(const std::exception_ptr& error);
  void breakGroup(const std::string& reason, CommErrorKind kind);
  void endTurn();
  void leave();
  void endIssued(std::uint64_t sequence);

  std::shared_ptr<ProcessGroup> inner_;
  std::shared_ptr<ProcessGroup> checks_;
  const Options options_;
  trace::Tracer silent_;
  trace::Tracer* const tracer_;
  trace::Lane* lane_;  // under the mutex

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<Pending> pending_;
  bool busy_ = false;  // somebody has the turn: current_ is being compared or issued
  bool off_ = false;   // the first steps are over
  int inFlight_ = 0;   // operations that took a turn and have not ended
  // Those of them that the inner group has.
  std::map<std::uint64_t, std::shared_ptr<WorkState>> issued_;
  std::uint64_t sequence_ = 0;
  std::string lastCall_;  // that all ranks took part in
  std::string broken_;    // empty while the group works
  CommErrorKind brokenBy_ = CommErrorKind::kBackend;

  // Of whoever has the turn.
  Pending current_;
  std::uint64_t startTicks_ = 0;
  bool inLastWords_ = false;
  at::Tensor record_;
  std::vector<at::Tensor> records_;
};

}  // namespace lockstep::process_group
