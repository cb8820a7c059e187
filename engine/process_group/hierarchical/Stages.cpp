// How a Pipeline takes its operations through their stages: see Note [Stages].

#include <fmt/format.h>

#include <algorithm>

#include "engine/process_group/hierarchical/Pipeline.h"

namespace lockstep::process_group::hierarchical {

using std::chrono::milliseconds;

namespace {

// A rank that waits for another host gives up so much later than one that waits within its own:
// the one next to the missing rank names it.
constexpr milliseconds kGrace = milliseconds(500);

// A stage speaks of the time that was left for it; the caller knows of the whole.
void replaceLimit(std::string& text, milliseconds ofStage, milliseconds whole) {
  const std::string said = fmt::format("timed out after {} ms", ofStage.count());
  if (const std::size_t at = text.find(said); at != std::string::npos) {
    text.replace(at, said.size(), fmt::format("timed out after {} ms", whole.count()));
  }
}

}  // namespace

JourneyPtr Pipeline::nextOver() const {
  // In the order of the calls.
  for (const auto& [entry, journey] : ledger_.calls()) {
    const bool done =
        journey->failed() ? told_ || !ledger_.isBroken() : journey->left == journey->stages();
    // A failed one whose group is broken waits until the parts, and so the other ranks, know why
    // (told_).
    if (!journey->settling && !journey->inStage() && done) {
      return journey;
    }
  }
  return nullptr;
}

// See Note [Stages].
JourneyPtr Pipeline::nextToEnter() const {
  int before = kStages;  // all earlier collectives have entered so many
  for (const auto& [entry, journey] : ledger_.calls()) {
    const bool waits =
        !journey->failed() && !journey->inStage() && journey->entered < journey->stages();
    // Sends and receives are in nobody's way.
    if (journey->direct()) {
      if (waits) {
        return journey;
      }
      continue;
    }
    // It follows the one before it through the stages, and is never in one stage with it.
    if (waits && journey->entered < before && (journey->entered > 0 || mayBegin(*journey))) {
      return journey;
    }
    before = std::min(before, journey->entered);
  }
  return nullptr;
}

// A barrier begins when all earlier operations have ended.
bool Pipeline::mayBegin(const Journey& journey) const {
  if (journey.call.operation != trace::Operation::kBarrier) {
    return true;
  }
  for (const auto& [entry, earlier] : ledger_.calls()) {
    if (earlier.get() == &journey) {
      return true;
    }
    if (!earlier->ended && !earlier->abandoned) {
      return false;
    }
  }
  return true;
}

JourneyPtr Pipeline::expired(Clock::time_point now) const {
  for (const auto& [entry, journey] : ledger_.calls()) {
    // In a stage the part's own limit ends it, and names whom it waited for.
    if (!journey->failed() && !journey->inStage() && journey->left < journey->stages() &&
        now >= journey->dueBy()) {
      return journey;
    }
  }
  return nullptr;
}

void Pipeline::enterStage(const JourneyPtr& journey, Lock& lock) {
  // `entered` is the stage to enter, before it is counted up.
  const Step& step = journey->plan.steps[static_cast<std::size_t>(journey->entered)];
  ++journey->entered;
  if (journey->startTicks == 0) {
    journey->startTicks = base::ticks();
  }
  // Nothing to do here on this rank: the stage is passed in turn all the same, or a later operation
  // could overtake.
  if (!step.issue) {
    ++journey->left;
    return;
  }
  CallOptions options;
  const auto rest = std::chrono::ceil<milliseconds>(journey->dueBy() - Clock::now());
  // The second stage is the one across hosts (kGrace).
  options.timeout =
      std::max(rest, milliseconds(1)) + (journey->entered == 2 ? kGrace : milliseconds(0));
  journey->given = options.timeout;
  // The call may end at once and come back in stageEnded.
  lock.unlock();
  try {
    journey->last = step.issue(options);
    journey->last->future().whenComplete(
        [this, journey, part = step.part](const base::Future<std::vector<at::Tensor>>& done) {
          stageEnded(journey, *part, done.exception());
        });
  } catch (...) {
    stageEnded(journey, *step.part, std::current_exception());
  }
  lock.lock();
  // Between the call and this somebody may have given the operation up, when there was no work yet
  // to abort.
  journey->issued = journey->direct() && journey->last != nullptr;
  if (journey->issued && journey->abandoned) {
    abandon(*journey, lock);
  }
}

void Pipeline::stageEnded(const JourneyPtr& journey, const Part& part,
                          const std::exception_ptr& error) {
  // A send or receive that fails alone leaves the group as it is.
  const bool alone = error != nullptr && journey->direct() && part->state() == GroupState::kSuccess;
  Lock lock(mutex_);
  if (journey->ended) {
    return;  // the group has closed
  }
  ++journey->left;
  if (error == nullptr) {
    ledger_.moment.renew();
  } else if (!journey->failed()) {
    Failure failure = failureOf(error, part, member_.rank);
    if (failure.kind == CommErrorKind::kTimeout) {
      for (std::string* text : {&failure.what, &failure.cause}) {
        replaceLimit(*text, journey->given, journey->limit);
      }
    }
    if (alone) {
      journey->fail(failure);
    } else {
      failOne(*journey, failure, lock);
    }
  }
  changed_.notify_all();
}

void Pipeline::settle(const JourneyPtr& journey, Lock& lock) {
  journey->settling = true;
  const bool well = !journey->failed();
  // Without the lock: copies take time, and finish() belongs to this operation alone.
  lock.unlock();
  if (well && journey->plan.finish) {
    try {
      journey->plan.finish(journey->last.get());
    } catch (const std::exception& error) {
      lock.lock();
      failOne(*journey, ownFailure(error.what()), lock);
      lock.unlock();
    }
  }
  if (journey->direct() && journey->last != nullptr) {
    journey->work->setSourceRank(journey->last->sourceRank());
  }
  record(*journey);
  lock.lock();
  // Its tensors go before its callbacks run.
  journey->plan = {};
  ledger_.end(*journey);
  const std::exception_ptr error = journey->failed() ? journey->error() : nullptr;
  lock.unlock();
  if (error != nullptr) {
    journey->work->fail(error);
  } else {
    journey->work->succeed();
  }
  lock.lock();
  ledger_.remove(*journey);
  changed_.notify_all();
}

// On the group's thread.
void Pipeline::record(const Journey& journey) {
  if (journey.startTicks == 0) {
    return;
  }
  // The first lane that is free since before this began; the last takes what finds none.
  const auto lane = std::find_if(lanes_.begin(), lanes_.end() - 1, [&](const SpanLane& of) {
    return of.endTicks <= journey.startTicks;
  });
  records_.ended(journey, *lane->lane);
  lane->endTicks = base::ticks();
}

}  // namespace lockstep::process_group::hierarchical
