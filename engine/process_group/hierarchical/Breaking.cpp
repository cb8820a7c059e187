// How the group of a Pipeline breaks.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "engine/process_group/hierarchical/Pipeline.h"

namespace lockstep::process_group::hierarchical {

namespace {

// How soon who waits for the moment to end looks again.
constexpr std::chrono::milliseconds kLook{10};

}  // namespace

void Pipeline::abort(const std::string& reason) {
  Failure failure;
  failure.what = failure.cause = "aborted: " + reason;
  failure.kind = CommErrorKind::kAborted;
  failure.origin = options_.rank;
  Lock lock(mutex_);
  breakGroup(failure, nullptr, lock);
  // The other ranks are to know when this returns.
  if (std::this_thread::get_id() == threadId_.load()) {
    run(lock, [this] { return told_; });
    return;
  }
  while (!told_) {
    if (mayTellParts(Clock::now())) {
      tellParts(lock);
    } else {
      changed_.wait_for(lock, kLook);
    }
  }
}

void Pipeline::failOne(Journey& journey, const Failure& failure, Lock& lock) {
  if (journey.ended) {
    return;
  }
  if (!journey.failed()) {
    journey.failure = failure;
  }
  if (!broken_.what.empty()) {
    return;
  }
  Failure reason = failure;
  reason.what =
      fmt::format("given up because {} #{} failed: {}", trace::name(journey.call.operation),
                  journey.call.sequence, failure.what);
  breakGroup(reason, &journey, lock);
}

// Spares the collectives before `first`, or all when there is none.
void Pipeline::breakGroup(const Failure& failure, const Journey* first, Lock& lock) {
  if (broken_.what.empty()) {
    broken_ = failure;
    moment_.begin();
    bool spares = true;
    for (const JourneyPtr& journey : inFlight_) {
      spares = spares && journey.get() != first;
      if (!journey->failed() && journey->left < journey->stages() &&
          (!spares || journey->direct())) {
        journey->failure = failure;
      }
    }
  }
  if (mayTellParts(Clock::now())) {
    tellParts(lock);
  }
  changed_.notify_all();
}

// The parts serve what is spared until then.
bool Pipeline::mayTellParts(Clock::time_point now) const {
  if (broken_.what.empty() || telling_) {
    return false;
  }
  return moment_.over(now) ||
         std::all_of(inFlight_.begin(), inFlight_.end(), [](const JourneyPtr& journey) {
           return journey->failed() || journey->left == journey->stages();
         });
}

// Returns once the parts, and thereby the other ranks, have been told.
void Pipeline::tellParts(Lock& lock) {
  telling_ = true;
  for (const JourneyPtr& journey : inFlight_) {
    if (!journey->failed() && journey->left < journey->stages()) {
      journey->failure = broken_;
    }
  }
  const std::string reason = told(broken_);
  lock.unlock();
  for (const Part* part : parts_) {
    if (part->group != nullptr) {
      part->group->abort(reason);
    }
  }
  lock.lock();
  told_ = true;
  changed_.notify_all();
}

// Nobody else need hear of a send or receive that is given up; the other rank's part may still
// come.
void Pipeline::abandon(Journey& journey, Lock& lock) {
  journey.abandoned = true;
  journey.deadline = Clock::time_point::max();
  updateLastWords();
  changed_.notify_all();
  if (journey.issued) {
    lock.unlock();
    journey.last->abort();
    lock.lock();
  }
}

}  // namespace lockstep::process_group::hierarchical
