#include "engine/train/StepAgreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace lockstep::train {

using experiment::SettingChange;

namespace {

constexpr const char* kStopKey = "lockstep/steps/stop";
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::string wordKey(std::int64_t boundary) {
  return fmt::format("lockstep/steps/{}", boundary);
}

std::string readersKey(std::int64_t boundary) {
  return wordKey(boundary) + "/readers";
}

/// Rank 0's word at a boundary.
std::string wordText(const StepDecision& decision, std::int64_t next) {
  auto changes = nlohmann::json::array();
  for (const SettingChange& change : decision.changes) {
    changes.push_back(experiment::toJson(change));
  }
  return nlohmann::json{{"stop", decision.stop}, {"next", next}, {"changes", changes}}.dump();
}

}  // namespace

// The traffic of two ranks, with a lease of 3 steps (Note [Deciding together]):
//
//       rank 0   before(4): decides, sets lockstep/steps/4 = {stop: no, next: 7}; goes on to 7
//       rank 1   before(4): reads lockstep/steps/4, boundary is 7; deletes it as the last reader
//                before(5), before(6): nothing
//                before(7): waits for lockstep/steps/7, if it is ahead of rank 0
//
// A rank that a signal reached writes lockstep/steps/stop, which rank 0 looks for when it decides.
StepAgreement::StepAgreement(store::Store& store, int rank, int worldSize,
                             const std::atomic<bool>& requested, std::chrono::milliseconds lease)
    : store_(store), rank_(rank), worldSize_(worldSize), requested_(requested), lease_(lease) {}

StepDecision StepAgreement::before(std::int64_t nextStep) {
  if (rank_ != 0) {
    passOn();
  }
  if (nextStep < boundary_) {
    return {};
  }
  if (rank_ == 0) {
    return decide(nextStep);
  }
  try {
    return read();
  } catch (const store::StoreError& error) {
    throw store::StoreError(fmt::format(
        "rank 0 did not say whether to begin step {}: {}", nextStep, error.what()));
  }
}

void StepAgreement::leave(std::int64_t nextStep, bool shadows) {
  if (rank_ != 0) {
    return;
  }
  if (shadows) {
    shadowed(nextStep);
  } else if (worldSize_ > 1 && boundary_ != kNever) {
    // Nobody decides any more: the others read this word at their next boundary and go on to their
    // end.
    store_.set(wordKey(boundary_), wordText({}, kNever));
    boundary_ = kNever;
  }
}

void StepAgreement::shadowed(std::int64_t nextStep) {
  if (rank_ != 0) {
    passOn();
  } else if (nextStep >= boundary_) {
    (void)decide(nextStep);
  }
}

StepDecision StepAgreement::decide(std::int64_t nextStep) {
  StepDecision decision;
  // Two questions to the store a lease, and none for a collective.
  decision.stop = requested_.load(std::memory_order_relaxed) || store_.check({kStopKey});
  if (!decision.stop) {
    decision.changes = takeChanges();
  }
  const std::int64_t next = decision.stop ? kNever : nextBoundary(nextStep);
  if (worldSize_ > 1) {
    store_.set(wordKey(boundary_), wordText(decision, next));
  }
  boundary_ = next;
  return decision;
}

StepDecision StepAgreement::read() {
  const auto word = nlohmann::json::parse(store_.get(wordKey(boundary_)));
  // A long run would fill the store; the last of the readers cleans up.
  if (store_.add(readersKey(boundary_), 1) == worldSize_ - 1) {
    store_.deleteKey(wordKey(boundary_));
    store_.deleteKey(readersKey(boundary_));
  }
  StepDecision decision;
  decision.stop = word.at("stop").get<bool>();
  for (const auto& change : word.at("changes")) {
    decision.changes.push_back(experiment::settingChangeFromJson(change.get<std::string>()));
  }
  boundary_ = word.at("next").get<std::int64_t>();
  return decision;
}

void StepAgreement::passOn() {
  // Any rank may be the one that got the signal.
  if (!passedOn_ && requested_.load(std::memory_order_relaxed)) {
    store_.set(kStopKey, "1");
    passedOn_ = true;
  }
}

std::int64_t StepAgreement::nextBoundary(std::int64_t nextStep) {
  const auto now = Clock::now();
  std::int64_t fitting = 1;
  // The first time nothing is known of the pace: 1 step. Then as many as fit into the lease by the
  // pace since the last decision, and at most twice as many as then, so that one quick step does
  // not put the next boundary a minute away.
  if (decidedStep_ >= 0) {
    const double elapsed = std::chrono::duration<double, std::milli>(now - decidedAt_).count();
    const double steps = static_cast<double>(nextStep - decidedStep_);
    const double most = 2.0 * static_cast<double>(stride_);
    fitting = static_cast<std::int64_t>(
        std::min(most, static_cast<double>(lease_.count()) * steps / std::max(elapsed, 1e-3)));
  }
  stride_ = std::max<std::int64_t>(1, fitting);
  decidedStep_ = nextStep;
  decidedAt_ = now;
  return nextStep + stride_;
}

std::vector<SettingChange> StepAgreement::takeChanges() {
  std::vector<SettingChange> changes;
  while (store_.check({experiment::changeKey(taken_)})) {
    changes.push_back(experiment::settingChangeFromJson(store_.get(experiment::changeKey(taken_))));
    ++taken_;
  }
  return changes;
}

}  // namespace lockstep::train
