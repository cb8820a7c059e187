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
  for (const auto& [entry, journey] : ledger_.calls()) {
    const bool done =
        journey->failed() ? told_ || !ledger_.isBroken() : journey->left == journey->stages();
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
    if (journey->direct()) {
      if (waits) {
        return journey;
      }
      continue;
    }
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
    if (!journey->failed() && !journey->inStage() && journey->left < journey->stages() &&
        now >= journey->dueBy()) {
      return journey;
    }
  }
  return nullptr;
}

void Pipeline::enterStage(const JourneyPtr& journey, Lock& lock) {
  const Step& step = journey->plan.steps[static_cast<std::size_t>(journey->entered)];
  ++journey->entered;
  if (journey->startTicks == 0) {
    journey->startTicks = base::ticks();
  }
  if (!step.issue) {
    ++journey->left;
    return;
  }
  CallOptions options;
  const auto rest = std::chrono::ceil<milliseconds>(journey->dueBy() - Clock::now());
  options.timeout =
      std::max(rest, milliseconds(1)) + (journey->entered == 2 ? kGrace : milliseconds(0));
  journey->given = options.timeout;
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
  journey->issued = journey->direct() && journey->last != nullptr;
  if (journey->issued && journey->abandoned) {
    abandon(*journey, lock);
  }
}

void Pipeline::stageEnded(const JourneyPtr& journey, const Part& part,
                          const std::exception_ptr& error) {
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
  const auto lane = std::find_if(lanes_.begin(), lanes_.end() - 1, [&](const SpanLane& of) {
    return of.endTicks <= journey.startTicks;
  });
  records_.ended(journey.call, *lane->lane, journey.startTicks);
  lane->endTicks = base::ticks();
}

}  // namespace lockstep::process_group::hierarchical
