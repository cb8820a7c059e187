#include "engine/process_group/hierarchical/Pipeline.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "engine/base/Thread.h"
#include "engine/process_group/operation/WorkOver.h"

namespace lockstep::process_group::hierarchical {

using std::chrono::milliseconds;

namespace {

// Spans of collectives that are under way at the same time are drawn in as many lanes.
constexpr int kLanes = 4;

}  // namespace

/// Who waits on the group's own thread drives on meanwhile.
class Pipeline::JourneyWork final : public WorkOver {
 public:
  JourneyWork(std::shared_ptr<WorkState> state, Pipeline& pipeline)
      : WorkOver(std::move(state)), pipeline_(pipeline), thread_(pipeline.threadId_.load()) {}

  // On its own thread nobody else would drive: a callback that waits here would wait for ever.
  void wait(milliseconds timeout = kNoTimeout) override {
    if (std::this_thread::get_id() == thread_ && !state_->isCompleted()) {
      const auto deadline = Clock::now() + timeout;
      Lock lock(pipeline_.mutex_);
      pipeline_.run(lock, [&] {
        return state_->isCompleted() || (timeout != kNoTimeout && Clock::now() >= deadline);
      });
    }
    state_->wait(timeout);
  }

 private:
  Pipeline& pipeline_;  // there as long as its thread is
  const std::thread::id thread_;
};

Pipeline::Pipeline(Member member, std::vector<const Part*> parts)
    : GroupCalls(std::move(member), "hier queue"), parts_(std::move(parts)) {
  for (int i = 0; i < kLanes; ++i) {
    lanes_.push_back({&records_.lane(fmt::format("hier {}", i))});
  }
  thread_ = std::thread([this] {
    base::nameThisThread("hier 0");
    const at::NoGradGuard noGrad;
    Lock lock(mutex_);
    run(lock, [this] { return closing_ && idle(); });
  });
  threadId_ = thread_.get_id();
}

Pipeline::~Pipeline() {
  close();
}

void Pipeline::close() {
  if (!thread_.joinable()) {
    return;
  }
  mustNotBeOn(std::this_thread::get_id() == threadId_.load());
  {
    Lock lock(mutex_);
    changed_.wait_for(lock, kDrain, [this] { return idle(); });
    if (!idle()) {
      breakGroup(ownFailure(kDestroyed), nullptr, lock);
      ledger_.moment.skip();
    }
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
  for (const JourneyPtr& journey : openCalls()) {
    journey->fail(ownFailure(kDestroyed));
    end(journey, nullptr);
  }
}

Failure Pipeline::ownFailure(std::string what, CommErrorKind kind) const {
  Failure failure;
  failure.what = failure.cause = std::move(what);
  failure.kind = kind;
  failure.origin = member_.rank;
  return failure;
}

// Whether the thread has nothing left to do.
bool Pipeline::idle() const {
  return ledger_.onlyAbandoned() && (!ledger_.isBroken() || told_);
}

GroupState Pipeline::state() const {
  if (const GroupState own = GroupCalls::state(); own != GroupState::kSuccess) {
    return own;
  }
  for (const Part* part : parts_) {
    if (part->group != nullptr && part->group->state() != GroupState::kSuccess) {
      return part->group->state();
    }
  }
  return GroupState::kSuccess;
}

// With the mutex held.
JourneyPtr Pipeline::enter(Call call, std::vector<at::Tensor> outputs, milliseconds limit,
                           Plan plan) {
  const auto abort = [this](const JourneyPtr& journey) {
    Lock lock(mutex_);
    if (journey->direct()) {
      abandon(*journey, lock);
    } else {
      failOne(*journey, ownFailure("aborted by its caller", CommErrorKind::kAborted), lock);
    }
  };
  const auto waitingFor = [this](const Journey& journey) -> std::string {
    std::lock_guard lock(mutex_);
    if (!journey.inStage()) {
      return "still in the queue";
    }
    const Part* part = journey.plan.steps[static_cast<std::size_t>(journey.left)].part;
    return part->place.empty() ? "" : "in its stage " + part->place;
  };
  JourneyPtr journey =
      GroupCalls::enter(std::move(call), std::move(outputs), limit, abort, waitingFor);
  journey->plan = std::move(plan);
  return journey;
}

ProcessGroup::WorkPtr Pipeline::submit(Call call, std::vector<at::Tensor> outputs,
                                       milliseconds limit, Plan plan) {
  Lock lock(mutex_);
  const JourneyPtr journey = enter(std::move(call), std::move(outputs), limit, std::move(plan));
  if (!refused(journey, lock)) {
    changed_.notify_all();
  }
  return std::make_shared<JourneyWork>(journey->work, *this);
}

// Note [What the thread of a pipeline does next]
//
//   1  enter the next stage with the first operation that may                enterStage
//   2  end what has left its last stage, or has failed and the parts know     settle
//   3  tell the parts that the group is broken, when its moment is over       tellParts
//   4  fail what waits in the queue longer than its time                      failOne
//   5  sleep until something changes, 50 ms at most while a call is open
//
// In this order: the other ranks wait for this one's part in a stage, and not behind the callbacks
// of what has ended here; no failure is reported while something may still end well. Each step
// gives the lock up for what may call back (the calls of the parts, futures, aborts) and looks at
// everything anew.
//
// `until` is the end of the thread, or of a wait in one of its callbacks, which runs the same loop.
void Pipeline::run(Lock& lock, const std::function<bool()>& until) {
  while (!until()) {
    if (const JourneyPtr next = nextToEnter()) {
      enterStage(next, lock);
    } else if (const JourneyPtr over = nextOver()) {
      settle(over, lock);
    } else if (mayTellParts(Clock::now())) {
      tellParts(lock);
    } else if (const JourneyPtr late = expired(Clock::now())) {
      failOne(*late, ownFailure(late->timedOut(late->waitingFor()), CommErrorKind::kTimeout), lock);
    } else {
      // What is in a stage has that stage's limit; this look is for what waits for its turn.
      changed_.wait_for(lock, milliseconds(ledger_.calls().empty() ? 60'000 : 50));
    }
  }
}

}  // namespace lockstep::process_group::hierarchical
