#include "engine/launch/detail/Supervision.h"

#include <signal.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/NumberText.h"

namespace lockstep::launch::detail {
namespace {

using base::ExitCode;
using Clock = std::chrono::steady_clock;

}  // namespace

// Note [How a run is ended]
// A run is over when its last rank has ended. What hurries that is in two variables, each of which
// only moves to the right:
//
//       mode_       kTraining --> kStopping   a signal, "stop": the next signal kills
//                             `-> kFailing    a rank failed or was lost, no start, no first step
//       pressure_   kNone --> kTerminated --> kKilled --> kGivenUp
//                             SIGTERM         SIGKILL     not waited for any longer
//
// pressureDeadline_ is when pressure_ takes its next step, if ranks still live (escalate):
//
//       a rank failed       failureGrace without any signal: the others' collectives break, and
//                           what they say then tells whose fault it was (Note [Whose fault it was])
//       a rank was lost     SIGTERM at once: the others would wait out a time limit for it
//       a stop              SIGTERM at once, which a rank takes as "end after this step", and has
//                           stopGrace for; before the first step terminateGrace
//       after SIGTERM       terminateGrace
//       after SIGKILL       killGrace; who outlives that sits in the kernel
//
// A rank that is suspended can answer none of this: once only such are left they are killed at
// once.

Supervision::Supervision(const LaunchOptions& options, Resources& resources, posix::EventLoop& loop,
                         Progress progress)
    : options_(options),
      resources_(resources),
      loop_(loop),
      progress_(std::move(progress)),
      ranks_(static_cast<std::size_t>(options.experiment.processes.worldSize)),
      capture_(options.experiment.capture.enabled) {}

LaunchOutcome Supervision::run() {
  auto ready = loop_.add(resources_.signals->fd(), [this] { onSignal(); });
  if (ready.ok()) {
    ready = resources_.ranks->start(*this);
  }
  if (!ready.ok()) {
    runFailed(ready.error());
    for (auto& slot : ranks_) {
      // Those that were not started will not be: only the others have an end to wait for.
      slot.living = slot.pid != 0;
    }
    killAll();
  }
  while (living() > 0 && pressure_ != Pressure::kGivenUp) {
    loop_.waitUntil(nextDeadline());
    const auto now = Clock::now();
    if (now >= pressureDeadline_) {
      escalate();
    }
    if (now >= startupDeadline_) {
      checkStartup();
    }
    if (now >= nextTick_) {
      tick();
    }
  }
  loop_.remove(resources_.signals->fd());
  resources_.ranks->finish();
  return conclude();
}

void Supervision::rankStarted(int rank, std::int64_t pid, int host) {
  ranks_[static_cast<std::size_t>(rank)].pid = pid;
  resources_.recorder->updateRank(rank, [pid, host](trace::RankInfo& info) {
    info.pid = pid;
    info.host = host;
    info.state = "starting";
  });
}

void Supervision::allStarted() {
  startupDeadline_ = Clock::now() + options_.limits.startupMargin +
                     std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                         options_.experiment.processes.timeoutSeconds));
}

void Supervision::rankWrote(int rank, bool isError, std::string_view bytes) {
  const auto sink = [&](std::string_view line) { keepLine(rank, line); };
  if (rank < 0) {
    launcherLines_.feed(bytes, sink);
    return;
  }
  RankSlot& slot = ranks_[static_cast<std::size_t>(rank)];
  (isError ? slot.errorLines : slot.outputLines).feed(bytes, sink);
  if (isError) {
    slot.errorTail.feed(bytes);
  }
}

LineBudget& Supervision::budgetOf(int rank) {
  return rank < 0 ? launcherKept_ : ranks_[static_cast<std::size_t>(rank)].kept;
}

void Supervision::keepLine(int rank, std::string_view line) {
  LineBudget& kept = budgetOf(rank);
  if (kept.take(line)) {
    resources_.recorder->addLog(rank, std::string(line));
  } else if (kept.leftOut() == 1) {
    resources_.recorder->addLog(rank, fmt::format("(from here on left out: of a process {} are "
                                                  "kept)",
                                                  base::bytesText(LineBudget::kMaxBytes)));
  }
}

void Supervision::tellLeftOut(int rank) {
  if (const std::string text = budgetOf(rank).text(); !text.empty()) {
    const std::string whose =
        rank < 0 ? "the launcher's output" : fmt::format("rank {}'s output", rank);
    resources_.recorder->addLog(rank, fmt::format("({})", text));
    resources_.recorder->addProblem({0, "warning", rank, 0, fmt::format("{}: {}", whose, text)});
  }
}

void Supervision::rankEnded(int rank, const posix::ProcessEnd& processEnd) {
  const RankSlot& slot = ranks_[static_cast<std::size_t>(rank)];
  RankEnd end;
  end.end = processEnd;
  end.killedByUs = (processEnd.signal == SIGKILL && slot.killed) ||
                   (processEnd.signal == SIGTERM && slot.terminated);
  recordEnd(rank, std::move(end));
}

void Supervision::rankLost(int rank, const std::string& why) {
  RankEnd end;
  end.lost = why;
  recordEnd(rank, std::move(end));
  // The others wait for it in vain, and would until the time limit of a collective.
  if (pressure_ == Pressure::kNone) {
    terminateAll();
  }
}

void Supervision::runFailed(const base::Error& error) {
  if (ownFailure_.empty()) {
    ownFailure_ = error.message();
    ownExitCode_ = error.code;
  }
  if (mode_ == Mode::kTraining) {
    fail();
  }
}

void Supervision::recordEnd(int rank, RankEnd end) {
  RankSlot& slot = ranks_[static_cast<std::size_t>(rank)];
  // A rank may be lost with its host, and its end come all the same: the first word counts.
  if (slot.end) {
    return;
  }
  for (LineSplitter* lines : {&slot.outputLines, &slot.errorLines}) {
    lines->flush([&](std::string_view line) { keepLine(rank, line); });
  }
  tellLeftOut(rank);
  end.rank = rank;
  end.order = ended_++;
  end.wasSuspended = slot.suspended;
  // Read now: a lost rank's are those that its relay sent last.
  end.words = lastWords(rank);
  end.lastErrorLine = slot.errorTail.lastLine();
  slot.living = false;

  const bool well = endedWell(end);
  resources_.recorder->updateRank(
      rank, [end, well, tail = slot.errorTail.text()](trace::RankInfo& info) {
        if (!end.lost.empty()) {
          info.state = "lost";
        } else if (end.end.signal != 0) {
          info.state = "killed";
          info.signal = end.end.signal;
        } else {
          const bool stopped = end.end.exitCode == static_cast<int>(ExitCode::kInterrupted);
          info.exitCode = end.end.exitCode;
          info.state = well ? "finished" : stopped ? "stopped" : "failed";
        }
        info.lastWords = well ? "" : describe(end);
        info.stderrTail = tail;
      });
  resources_.recorder->addLog(-1, describe(end));
  slot.end = std::move(end);
  if (!well && mode_ == Mode::kTraining) {
    fail();
  }
}

void Supervision::onSignal() {
  while (const auto signal = resources_.signals->next()) {
    interrupted_ = true;
    if (mode_ == Mode::kTraining) {
      stop(signalName(*signal));
    } else {
      killAll();
    }
  }
}

void Supervision::stop(const std::string& who) {
  if (mode_ != Mode::kTraining) {
    return;
  }
  mode_ = Mode::kStopping;
  resources_.recorder->addLog(-1, "stop: asked for by " + who);
  terminateAll();
  // Before the first step there is no step to end, and a rendezvous cannot be interrupted.
  if (state_ == trace::RunState::kRunning) {
    pressureDeadline_ = Clock::now() + options_.limits.stopGrace;
  }
}

void Supervision::fail() {
  mode_ = Mode::kFailing;
  pressureDeadline_ = Clock::now() + options_.limits.failureGrace;
}

void Supervision::terminateAll() {
  pressure_ = Pressure::kTerminated;
  pressureDeadline_ = Clock::now() + options_.limits.terminateGrace;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (RankSlot& slot = ranks_[static_cast<std::size_t>(rank)]; slot.living) {
      slot.terminated = true;
      resources_.ranks->send(rank, SIGTERM);
    }
  }
}

void Supervision::killAll() {
  pressure_ = Pressure::kKilled;
  pressureDeadline_ = Clock::now() + options_.limits.killGrace;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (RankSlot& slot = ranks_[static_cast<std::size_t>(rank)]; slot.living) {
      // Before the signal: afterwards nothing tells that it hung.
      slot.suspended = slot.suspended || resources_.ranks->isSuspended(rank);
      slot.killed = true;
      resources_.ranks->send(rank, SIGKILL);
    }
  }
}

void Supervision::escalate() {
  switch (pressure_) {
    case Pressure::kNone:
      terminateAll();
      break;
    case Pressure::kTerminated:
      killAll();
      break;
    case Pressure::kKilled:
    case Pressure::kGivenUp:
      pressure_ = Pressure::kGivenUp;
      break;
  }
}

void Supervision::checkStartup() {
  startupDeadline_ = TimePoint::max();
  if (mode_ != Mode::kTraining) {
    return;
  }
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    // One rank that trains is enough: the others are in a collective with it, which has its own
    // limit.
    if (lastWords(rank).training) {
      return;
    }
  }
  ownFailure_ = fmt::format(
      "no rank reached its first step within {} (processes.timeout_seconds = {:g}): {}",
      base::durationText(std::chrono::duration<double, std::nano>(Clock::now() - start_).count()),
      options_.experiment.processes.timeoutSeconds, describeStartup());
  ownExitCode_ = ExitCode::kTimeout;
  fail();
  terminateAll();
}

std::string Supervision::describeStartup() const {
  std::map<std::string, std::string> ranksByPlace;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    const auto& slot = ranks_[static_cast<std::size_t>(rank)];
    const bool suspended = slot.living && resources_.ranks->isSuspended(rank);
    std::string place =
        slot.end ? "has ended" : lastWords(rank).lastIn + (suspended ? ", suspended (SIGSTOP)" : "");
    std::string& list = ranksByPlace[std::move(place)];
    list += fmt::format("{}{}", list.empty() ? "rank " : ", rank ", rank);
  }
  std::string text;
  for (const auto& [place, list] : ranksByPlace) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", list, place);
  }
  return text;
}

}  // namespace lockstep::launch::detail
