// What a Supervision tells: the run file's rows, the caller's progress, the control socket's
// answers and the outcome.

#include <signal.h>

#include <algorithm>

#include "engine/launch/detail/Preparation.h"
#include "engine/launch/detail/Supervision.h"

namespace lockstep::launch::detail {
namespace {

using base::ExitCode;
using trace::RunState;
using Clock = std::chrono::steady_clock;

constexpr auto kTickEvery = std::chrono::milliseconds(100);

}  // namespace

int Supervision::living() const {
  int count = 0;
  for (const auto& slot : ranks_) {
    count += slot.living ? 1 : 0;
  }
  return count;
}

Supervision::TimePoint Supervision::nextDeadline() const {
  return std::min({nextTick_, pressureDeadline_, startupDeadline_});
}

Obituary Supervision::lastWords(int rank) const {
  return readLastWords(resources_.segments[static_cast<std::size_t>(rank)].lastWords(),
                       startReading_);
}

bool Supervision::onlySuspendedAreLeft() const {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (ranks_[static_cast<std::size_t>(rank)].living && !resources_.ranks->isSuspended(rank)) {
      return false;
    }
  }
  return true;
}

void Supervision::tick() {
  const auto now = Clock::now();
  nextTick_ = now + kTickEvery;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    RankSlot& slot = ranks_[static_cast<std::size_t>(rank)];
    if (!slot.training && slot.living && lastWords(rank).training) {
      // From its last words, ten times a second: a rank needs no message for it.
      slot.training = true;
      recordRunning(*resources_.recorder, rank, state_);
    }
  }
  resources_.ranks->tick();
  // A suspended rank cannot end by itself, nor can SIGTERM end it.
  if (mode_ != Mode::kTraining && pressure_ != Pressure::kKilled && onlySuspendedAreLeft()) {
    killAll();
  }
  if (progress_) {
    progress_({state_, mode_ != Mode::kTraining,
               std::chrono::duration_cast<std::chrono::milliseconds>(now - start_),
               resources_.recorder->progress()});
  }
}

std::string Supervision::answer(const ControlCommand& command) {
  switch (command.kind) {
    case ControlCommand::Kind::kStop:
      stop("a command");
      return controlDone();
    case ControlCommand::Kind::kCapture:
      capture_ = command.enabled;
      resources_.ranks->setCapture(capture_);
      resources_.recorder->addLog(-1, capture_ ? "capture: on" : "capture: off");
      return controlDone();
    case ControlCommand::Kind::kTrace:
      return controlRefused(
          "this run is of Lockstep's own engine: PyTorch's profiler is in no rank of it");
    case ControlCommand::Kind::kSet:
      return set(command.change);
    case ControlCommand::Kind::kStatus:
      break;
  }
  return toJson(
      ControlStatus{state_, mode_ != Mode::kTraining, resources_.recorder->progress(), capture_});
}

std::string Supervision::set(const experiment::SettingChange& change) {
  try {
    // A change is a key of the ranks' store with the next number. Rank 0 finds it there, and all
    // agree on the step from which it counts (Note [Deciding together]).
    resources_.store->set(experiment::changeKey(changes_), experiment::toJson(change));
  } catch (const store::StoreError& error) {
    return controlRefused(error.what());
  }
  ++changes_;
  resources_.recorder->addLog(-1, fmt::format("set: {} = {}", change.key, change.value));
  return controlDone();
}

LaunchOutcome Supervision::conclude() {
  launcherLines_.flush([&](std::string_view line) { keepLine(-1, line); });
  tellLeftOut(-1);
  std::vector<RankEnd> ends;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    RankSlot& slot = ranks_[static_cast<std::size_t>(rank)];
    if (slot.living) {
      resources_.recorder->addLog(
          -1,
          fmt::format("rank {}: nothing tells that process {} ended within {:g} s of SIGKILL: it "
                      "may be stuck in the kernel",
                      rank, slot.pid,
                      std::chrono::duration<double>(options_.limits.killGrace).count()));
      // For the report: it was killed, as far as can be told.
      rankEnded(rank, {0, SIGKILL});
    }
    if (slot.end) {
      ends.push_back(*slot.end);
    }
  }
  Verdict verdict = judge(ends);
  // What the supervisor found itself (no start, no first step) is the cause of how the ranks ended.
  // A stop that was asked for is no failure, whatever ranks say as they are ended.
  if (!ownFailure_.empty()) {
    verdict = {RunState::kFailed, ownExitCode_, ownFailure_, -1};
  } else if (mode_ == Mode::kStopping) {
    verdict = {RunState::kStopped, ExitCode::kInterrupted, "", -1};
  }

  LaunchOutcome outcome{verdict.state, verdict.exitCode, verdict.failure, "",
                        interrupted_ || mode_ == Mode::kStopping};
  if (!outcome.failure.empty()) {
    const auto step = verdict.rank >= 0 ? lastWords(verdict.rank).step : 0;
    resources_.recorder->addProblem({0, "error", verdict.rank, step, outcome.failure});
  }
  detail::recordEnd(*resources_.recorder, verdict.state, static_cast<int>(verdict.exitCode),
                    verdict.failure);
  return outcome;
}

}  // namespace lockstep::launch::detail
