#include "engine/process_group/hierarchical/Pipeline.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/Thread.h"
#include "engine/trace/Event.h"

namespace lockstep::process_group::hierarchical {

using std::chrono::milliseconds;

namespace {

// How long the end of a group waits for what is in flight.
constexpr milliseconds kDrain = std::chrono::seconds(5);
constexpr const char* kDestroyed = "the process group was destroyed before it was done";
// Spans of collectives that are under way at the same time are drawn in as many lanes.
constexpr int kLanes = 4;

std::string laneName(const Pipeline::Options& options, const std::string& name) {
  return options.groupNumber == 0 ? name : fmt::format("{} ({})", name, options.group);
}

}  // namespace

/// Who waits on the group's own thread drives on meanwhile.
class Pipeline::JourneyWork final : public Work {
 public:
  JourneyWork(std::shared_ptr<WorkState> state, Pipeline& pipeline)
      : state_(std::move(state)), pipeline_(pipeline), thread_(pipeline.threadId_.load()) {}

  [[nodiscard]] bool isCompleted() const override { return state_->isCompleted(); }
  [[nodiscard]] bool isSuccess() const override { return state_->isSuccess(); }
  [[nodiscard]] std::exception_ptr exception() const override { return state_->exception(); }
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
  void abort() override { state_->abort(); }
  [[nodiscard]] int sourceRank() const override { return state_->sourceRank(); }
  [[nodiscard]] std::vector<at::Tensor> result() const override { return state_->result(); }
  [[nodiscard]] base::Future<std::vector<at::Tensor>> future() const override {
    return state_->future();
  }
  [[nodiscard]] trace::Operation operation() const override { return state_->operation(); }
  [[nodiscard]] std::uint64_t sequence() const override { return state_->sequence(); }

 private:
  const std::shared_ptr<WorkState> state_;
  Pipeline& pipeline_;  // there as long as its thread is
  const std::thread::id thread_;
};

Pipeline::Pipeline(Options options, std::vector<const Part*> parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      tracer_(options_.tracer != nullptr ? options_.tracer : &silent_),
      queueLane_(&tracer_->lane(laneName(options_, "hier queue"))) {
  for (int i = 0; i < kLanes; ++i) {
    lanes_.push_back({&tracer_->lane(laneName(options_, fmt::format("hier {}", i)))});
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
  LOCKSTEP_CHECK(std::this_thread::get_id() != threadId_.load(),
                 "process group {} was destroyed from a callback of its own work", options_.group);
  {
    Lock lock(mutex_);
    changed_.wait_for(lock, kDrain, [this] { return idle(); });
    if (!idle()) {
      Failure failure;
      failure.what = failure.cause = kDestroyed;
      failure.origin = options_.rank;
      breakGroup(failure, nullptr, lock);
      moment_.skip();
    }
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
  std::deque<JourneyPtr> left;
  {
    Lock lock(mutex_);
    left.swap(inFlight_);
    for (const JourneyPtr& journey : left) {
      journey->ended = true;
      journey->failure.what = kDestroyed;
    }
  }
  for (const JourneyPtr& journey : left) {
    journey->work->fail(journey->error());
  }
}

bool Pipeline::onlyAbandoned() const {
  return std::all_of(inFlight_.begin(), inFlight_.end(),
                     [](const JourneyPtr& journey) { return journey->abandoned; });
}

// Whether the thread has nothing left to do.
bool Pipeline::idle() const {
  return onlyAbandoned() && (broken_.what.empty() || told_);
}

std::uint64_t Pipeline::sequence() const {
  std::lock_guard lock(mutex_);
  return sequence_;
}

GroupState Pipeline::state() const {
  {
    std::lock_guard lock(mutex_);
    if (!broken_.what.empty()) {
      return stateAfter(broken_.kind);
    }
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
  auto journey = std::make_shared<Journey>();
  call.sequence = isDirect(call.operation) ? ++directSequence_ : ++sequence_;
  queueLane_->instant(trace::EventKind::kCollectiveQueued, call.options.step, call.options.bucket,
                      trace::packCollective(call.sequence, call.bytes),
                      trace::packOperation(call.operation, options_.groupNumber));
  journey->where.group = options_.group;
  journey->where.rank = options_.rank;
  journey->where.operation = call.operation;
  journey->where.sequence = call.sequence;
  journey->where.bucket = call.options.bucket;
  journey->call = std::move(call);
  journey->plan = std::move(plan);
  journey->limit = limit;
  journey->deadline = Clock::now() + limit;
  WorkState::Backend backend;
  backend.abort = [this, weak = std::weak_ptr<Journey>(journey)] {
    if (const auto journey = weak.lock()) {
      Failure failure;
      failure.what = failure.cause = "aborted by its caller";
      failure.kind = CommErrorKind::kAborted;
      failure.origin = options_.rank;
      Lock lock(mutex_);
      if (journey->direct()) {
        abandon(*journey, lock);
      } else {
        failOne(*journey, failure, lock);
      }
    }
  };
  backend.waitingFor = [this, weak = std::weak_ptr<Journey>(journey)]() -> std::string {
    const auto journey = weak.lock();
    if (journey == nullptr) {
      return "";
    }
    std::lock_guard lock(mutex_);
    if (!journey->inStage()) {
      return "still in the queue";
    }
    const Part* part = journey->plan.steps[static_cast<std::size_t>(journey->left)].part;
    return part->place.empty() ? "" : "in its stage " + part->place;
  };
  journey->work =
      std::make_shared<WorkState>(journey->where, std::move(outputs), limit, std::move(backend));
  return journey;
}

ProcessGroup::WorkPtr Pipeline::submit(Call call, std::vector<at::Tensor> outputs,
                                       milliseconds limit, Plan plan) {
  Lock lock(mutex_);
  JourneyPtr journey = enter(std::move(call), std::move(outputs), limit, std::move(plan));
  auto work = std::make_shared<JourneyWork>(journey->work, *this);
  if (!broken_.what.empty()) {
    journey->failure = broken_;
    journey->failure.what = "the group is broken: " + broken_.what;
    journey->failure.peer = -1;
    lock.unlock();
    journey->work->fail(journey->error());
    return work;
  }
  inFlight_.push_back(std::move(journey));
  updateLastWords();
  changed_.notify_all();
  return work;
}

void Pipeline::run(Lock& lock, const std::function<bool()>& until) {
  while (!until()) {
    if (const JourneyPtr over = nextOver()) {
      settle(over, lock);
    } else if (const JourneyPtr next = nextToEnter()) {
      enterStage(next, lock);
    } else if (mayTellParts(Clock::now())) {
      tellParts(lock);
    } else if (const JourneyPtr late = expired(Clock::now())) {
      Failure failure;
      failure.what = failure.cause =
          fmt::format("timed out after {} ms, still in the queue", late->limit.count());
      failure.kind = CommErrorKind::kTimeout;
      failure.origin = options_.rank;
      failOne(*late, failure, lock);
    } else {
      // Stages have limits of their own; this look is for what waits for its turn.
      changed_.wait_for(lock, milliseconds(inFlight_.empty() ? 60'000 : 50));
    }
  }
}

// With the mutex held.
void Pipeline::updateLastWords() {
  const auto first = std::find_if(
      inFlight_.begin(), inFlight_.end(),
      [](const JourneyPtr& journey) { return !journey->ended && !journey->abandoned; });
  const Journey* const oldest = first == inFlight_.end() ? nullptr : first->get();
  if (oldest == oldest_) {
    return;
  }
  oldest_ = oldest;
  tellOldest(tracer_->lastWords(), oldest == nullptr ? nullptr : &oldest->call);
}

}  // namespace lockstep::process_group::hierarchical
