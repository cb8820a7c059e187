#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/process_group/hierarchical/Journey.h"
#include "engine/process_group/operation/GroupCalls.h"

namespace lockstep::process_group::hierarchical {

// Note [Stages]
// A collective has up to three stages: within the host, across hosts, within the host again. Each
// stage has a group of its own, and a collective enters a stage once it has ended the stage
// before and all collectives called before it have entered this one. So every group gets its
// calls in the same order on all ranks, whatever ends when, while several collectives are under
// way, each in another stage. A stage that a rank has nothing to do in is passed in turn, too.
//
// One thread a group ("hier 0") makes the calls and ends the works; it never waits inside a call.
// A callback that waits for another operation of the group drives on inside its wait().

/// Runs the operations of one hierarchical group. The first failure breaks the group: what is in
/// flight fails, its parts are aborted, which tells the other ranks, and later calls fail at once.
/// Collectives called before the one that failed, or before an abort, are spared for a moment, and
/// the parts with them: other ranks may have ended them, or wait for this one's part. [any-thread]
class Pipeline final : public GroupCalls<Journey> {
 public:
  /// `parts` are aborted, in this order, when the group breaks. They outlive close(), and their
  /// groups end before this does: their threads call it.
  Pipeline(Member member, std::vector<const Part*> parts);
  ~Pipeline() override;

  ProcessGroup::WorkPtr submit(Call call, std::vector<at::Tensor> outputs,
                               std::chrono::milliseconds limit, Plan plan);

  /// Waits up to five seconds for what is in flight and its callbacks, fails what is left, and
  /// ends the thread. Not from a callback.
  void close();

  /// Fails what is in flight and all later calls; the other ranks know when it returns.
  void breakGroup(const process_group::Failure& failure);

  /// A part may have broken before the group knows.
  [[nodiscard]] GroupState state() const;

 private:
  class JourneyWork;

  JourneyPtr enter(Call call, std::vector<at::Tensor> outputs, std::chrono::milliseconds limit,
                   Plan plan);
  void run(Lock& lock, const std::function<bool()>& until);
  [[nodiscard]] JourneyPtr nextOver() const;
  [[nodiscard]] JourneyPtr nextToEnter() const;
  [[nodiscard]] bool mayBegin(const Journey& journey) const;
  void enterStage(const JourneyPtr& journey, Lock& lock);
  void stageEnded(const JourneyPtr& journey, const Part& part, const std::exception_ptr& error);
  void settle(const JourneyPtr& journey, Lock& lock);
  void record(const Journey& journey);
  JourneyPtr expired(Clock::time_point now) const;
  void failOne(Journey& journey, const Failure& failure, Lock& lock);
  void breakGroup(const Failure& failure, const Journey* first, Lock& lock);
  [[nodiscard]] bool mayTellParts(Clock::time_point now);
  void tellParts(Lock& lock);
  void abandon(Journey& journey, Lock& lock);
  [[nodiscard]] bool idle() const;
  [[nodiscard]] Failure ownFailure(std::string what,
                                   CommErrorKind kind = CommErrorKind::kBackend) const;

  struct SpanLane {
    trace::Lane* lane;
    std::uint64_t endTicks = 0;  // of its last span
  };

  const std::vector<const Part*> parts_;
  std::vector<SpanLane> lanes_;  // spans of one lane do not overlap

  // Under the mutex.
  Failure cause_;         // of what has broken the group
  bool telling_ = false;  // the parts are being told that the group is broken
  bool told_ = false;     // they know
  bool closing_ = false;
  std::thread thread_;
  std::atomic<std::thread::id> threadId_;
};

}  // namespace lockstep::process_group::hierarchical
