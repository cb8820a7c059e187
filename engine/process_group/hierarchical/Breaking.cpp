// How the group of a Pipeline breaks.

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

void Pipeline::breakGroup(const process_group::Failure& failure) {
  Lock lock(mutex_);
  breakGroup(ownFailure(failure.what, failure.kind), nullptr, lock);
  // The other ranks are to know when this returns.
  if (std::this_thread::get_id() == threadId_.load()) {
    // In a callback on the thread itself, which alone drives.
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
  journey.fail(failure);
  if (ledger_.isBroken()) {
    return;
  }
  Failure reason = failure;
  reason.what = givenUpFor(journey.call, failure).what;
  breakGroup(reason, &journey, lock);
}

// Spares the collectives before `first`, or all when there is none.
void Pipeline::breakGroup(const Failure& failure, const Journey* first, Lock& lock) {
  if (ledger_.breakBy(failure)) {
    cause_ = failure;
    ledger_.moment.begin();
    bool spares = true;
    for (const auto& [entry, journey] : ledger_.calls()) {
      spares = spares && journey.get() != first;
      // Direct ones have no order, and so nothing before them that could save them.
      if (journey->left < journey->stages() && (!spares || journey->direct())) {
        journey->fail(failure);
      }
    }
  }
  if (mayTellParts(Clock::now())) {
    tellParts(lock);
  }
  changed_.notify_all();
}

// The parts serve what is spared until then.
bool Pipeline::mayTellParts(Clock::time_point now) {
  if (!ledger_.isBroken() || telling_) {
    return false;
  }
  // A stage of many bytes over a slow network ends late, but moves.
  for (const Part* part : parts_) {
    if (part->group != nullptr && (*part)->moved()) {
      ledger_.moment.renew();
    }
  }
  return ledger_.moment.over(now) ||
         std::all_of(ledger_.calls().begin(), ledger_.calls().end(), [](const auto& entry) {
           return entry.second->failed() || entry.second->left == entry.second->stages();
         });
}

// Returns once the parts, and thereby the other ranks, have been told.
void Pipeline::tellParts(Lock& lock) {
  telling_ = true;
  for (const auto& [entry, journey] : ledger_.calls()) {
    if (journey->left < journey->stages()) {
      journey->fail(cause_);
    }
  }
  const std::string reason = told(cause_);
  // abort() of a part ends its works, which come back in stageEnded.
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
  ledger_.updateLastWords();
  changed_.notify_all();
  if (journey.issued) {
    lock.unlock();
    journey.last->abort();
    lock.lock();
  }
}

}  // namespace lockstep::process_group::hierarchical
