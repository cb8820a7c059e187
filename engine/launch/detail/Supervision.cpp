#include "engine/launch/detail/Supervision.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "engine/launch/RankEnvironment.h"

namespace lockstep::launch::detail {
namespace {

using base::ExitCode;
using Clock = std::chrono::steady_clock;

/// A process that survives SIGKILL this long sits in the kernel, out of anybody's reach.
constexpr auto kKillGrace = std::chrono::seconds(10);
constexpr std::size_t kReadBytes = 64 * 1024;

}  // namespace

Supervision::Supervision(const LaunchOptions& options, Resources& resources, EventLoop& loop,
                         Progress progress)
    : options_(options),
      resources_(resources),
      loop_(loop),
      progress_(std::move(progress)),
      ranks_(static_cast<std::size_t>(options.experiment.processes.worldSize)),
      capture_(options.experiment.capture.enabled),
      startupDeadline_(start_ + options.limits.startupMargin +
                       std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                           options.experiment.processes.timeoutSeconds))) {}

LaunchOutcome Supervision::run() {
  auto ready = loop_.add(resources_.signals->fd(), [this] { onSignal(); });
  if (ready.ok()) {
    ready = spawnRanks();
  }
  if (!ready.ok()) {
    ownFailure_ = ready.error().message();
    ownExitCode_ = ready.error().code;
    fail();
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
  return conclude();
}

base::Status Supervision::spawnRanks() {
  const auto inherited = inheritedEnvironment();
  RankPlace place;
  place.worldSize = options_.experiment.processes.worldSize;
  place.masterPort = resources_.masterPort;
  place.runId = resources_.runId;
  place.threads = options_.experiment.processes.threadsPerRank;
  place.supervisorPid = getpid();
  for (int rank = 0; rank < place.worldSize; ++rank) {
    RankSlot& slot = ranks_[static_cast<std::size_t>(rank)];
    place.rank = rank;
    auto process = RankProcess::spawn({rank, resources_.rankProgram,
                                       rankEnvironment(place, inherited),
                                       resources_.segments[static_cast<std::size_t>(rank)].fd(),
                                       options_.experimentToml});
    if (!process.ok()) {
      return process.error();
    }
    slot.process.emplace(std::move(process).value());
    resources_.recorder->updateRank(rank, [pid = slot.process->pid()](trace::RankInfo& info) {
      info.pid = pid;
      info.state = "starting";
    });
    if (auto watched = watch(rank); !watched.ok()) {
      return watched;
    }
  }
  return {};
}

base::Status Supervision::watch(int rank) {
  const RankProcess& process = *ranks_[static_cast<std::size_t>(rank)].process;
  const std::array<std::pair<int, std::function<void()>>, 3> watched{{
      {process.outputFd(), [this, rank] { readOutput(rank, false); }},
      {process.errorFd(), [this, rank] { readOutput(rank, true); }},
      {process.pidFd(), [this, rank] { rankMayHaveEnded(rank); }},
  }};
  for (const auto& [fd, callback] : watched) {
    if (auto added = loop_.add(fd, callback); !added.ok()) {
      return added;
    }
  }
  return {};
}

void Supervision::readOutput(int rank, bool isError) {
  RankSlot& slot = ranks_[static_cast<std::size_t>(rank)];
  const int fd = isError ? slot.process->errorFd() : slot.process->outputFd();
  if (fd < 0) {
    return;
  }
  LineSplitter& lines = isError ? slot.errorLines : slot.outputLines;
  const auto sink = [&](std::string_view line) {
    resources_.recorder->addLog(rank, std::string(line));
  };
  std::array<char, kReadBytes> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    lines.feed(bytes, sink);
    if (isError) {
      slot.errorTail.feed(bytes);
    }
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    lines.flush(sink);
    loop_.remove(fd);
    isError ? slot.process->closeError() : slot.process->closeOutput();
  }
}

void Supervision::rankMayHaveEnded(int rank) {
  RankSlot& slot = ranks_[static_cast<std::size_t>(rank)];
  if (slot.end) {
    return;
  }
  if (const auto end = slot.process->reap()) {
    recordEnd(rank, *end);
  }
}

void Supervision::recordEnd(int rank, const ProcessEnd& processEnd) {
  RankSlot& slot = ranks_[static_cast<std::size_t>(rank)];
  // All that it wrote is in the pipes now. A descendant that left the group may hold them open
  // and write on, hence the bound.
  for (const bool isError : {false, true}) {
    for (int reads = 0; reads < 64; ++reads) {
      readOutput(rank, isError);
    }
    const int fd = isError ? slot.process->errorFd() : slot.process->outputFd();
    if (fd >= 0) {
      (isError ? slot.errorLines : slot.outputLines).flush([&](std::string_view line) {
        resources_.recorder->addLog(rank, std::string(line));
      });
      loop_.remove(fd);
    }
  }
  loop_.remove(slot.process->pidFd());

  RankEnd end;
  end.rank = rank;
  end.order = ended_++;
  end.end = processEnd;
  end.killedByUs = (processEnd.signal == SIGKILL && slot.killed) ||
                   (processEnd.signal == SIGTERM && slot.terminated);
  end.wasSuspended = slot.suspended;
  end.words = lastWords(rank);
  end.lastErrorLine = slot.errorTail.lastLine();
  slot.process.reset();

  const bool well = endedWell(end);
  resources_.recorder->updateRank(rank, [well, processEnd, words = well ? "" : describe(end),
                                         tail = slot.errorTail.text()](trace::RankInfo& info) {
    if (processEnd.signal != 0) {
      info.state = "killed";
      info.signal = processEnd.signal;
    } else {
      const bool stopped = processEnd.exitCode == static_cast<int>(ExitCode::kInterrupted);
      info.exitCode = processEnd.exitCode;
      info.state = well ? "finished" : stopped ? "stopped" : "failed";
    }
    info.lastWords = words;
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
  for (auto& slot : ranks_) {
    if (slot.process) {
      slot.process->send(SIGTERM);
      slot.terminated = true;
    }
  }
  pressure_ = Pressure::kTerminated;
  pressureDeadline_ = Clock::now() + options_.limits.terminateGrace;
}

void Supervision::killAll() {
  for (auto& slot : ranks_) {
    if (slot.process) {
      slot.suspended = slot.suspended || slot.process->schedulerState() == 'T';
      slot.process->send(SIGKILL);
      slot.killed = true;
    }
  }
  pressure_ = Pressure::kKilled;
  pressureDeadline_ = Clock::now() + kKillGrace;
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
    if (lastWords(rank).training) {
      return;
    }
  }
  ownFailure_ = fmt::format(
      "no rank reached its first step within {:.3g} s (processes.timeout_seconds = {:g}): {}",
      std::chrono::duration<double>(Clock::now() - start_).count(),
      options_.experiment.processes.timeoutSeconds, describeStartup());
  ownExitCode_ = ExitCode::kTimeout;
  fail();
  terminateAll();
}

std::string Supervision::describeStartup() const {
  std::map<std::string, std::string> ranksByPlace;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    const auto& slot = ranks_[static_cast<std::size_t>(rank)];
    const bool suspended = slot.process && slot.process->schedulerState() == 'T';
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
