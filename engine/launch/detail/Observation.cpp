#include "engine/launch/detail/Observation.h"

#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/base/Try.h"
#include "engine/launch/detail/Preparation.h"
#include "engine/launch/detail/TraceRequest.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;
using Clock = std::chrono::steady_clock;

constexpr auto kLookEvery = std::chrono::milliseconds(100);
constexpr auto kEmptyEvery = std::chrono::milliseconds(20);
constexpr auto kDying = std::chrono::seconds(3);

}  // namespace

// Note [A job that is started again]
// An observed job may have its processes replaced: torchrun restarts all of them after a failure, a
// script may start its own. A rank's track in the run file is one line of time, so a process that
// comes again goes on with steps that nobody has used. Two ranks that are restarted together:
//
//       rank 0   steps 0 .. 8, ends              attaches first: all have ended, so the
//       rank 1   steps 0 .. 7, ends              job's life begins anew at step 9
//       rank 0   9, 10, ...
//       rank 1   9, 10, ...                      attaches second: the same life, 9
//
// A single rank that is replaced while others live goes on after its own last step. What a run
// cannot hold is refused, and said once of each kind: another world size, a rank that is there
// twice, a rank on another host, whose clock its earlier events do not have.

Observation::Observation(const JobOptions& options, posix::EventLoop& loop, SignalQueue& signals,
                         std::unique_ptr<trace::RunFileWriter> writer, trace::RunInfo info)
    : options_(options),
      loop_(loop),
      signals_(signals),
      writer_(std::move(writer)),
      info_(std::move(info)) {}

// Only now: the first process that attaches says how many ranks there are, and a command of which
// none does is no run.
base::Status Observation::begin(int worldSize) {
  LOCKSTEP_TRY(ensureDescriptors(worldSize));
  segments_ = LOCKSTEP_TRY(makeSegments(kJobMemory, worldSize, capture_));
  info_.worldSize = worldSize;
  recorder_ = startRecorder(std::move(writer_), info_, segments_, {kEmptyEvery}, options_.detail);
  processes_.resize(static_cast<std::size_t>(worldSize));
  for (auto& [rank, text] : earlyLog_) {
    recorder_->addLog(rank, std::move(text));
  }
  earlyLog_.clear();
  if (parts_.elsewhere != nullptr) {
    parts_.elsewhere->recordInto(*recorder_);
  }
  return {};
}

base::Result<Admission> Observation::attaches(const Attempt& attempt) {
  const auto& [rank, worldSize] = attempt.hello;
  if (!recorder_) {
    // The command goes on unrecorded, and the next process that comes tries again.
    if (auto begun = begin(worldSize); !begun.ok()) {
      log(-1, begun.error().message());
      return begun.error();
    }
  }
  // Of one host's processes it needs no word which.
  const std::string where = attempt.part == kHere ? "" : " on " + commands_[attempt.part].host;
  if (worldSize != info_.worldSize) {
    return refuse(attempt, fmt::format("{} ranks", worldSize),
                  fmt::format("process {}{} is rank {} of {} ranks, and this run began with {}: it "
                              "is not recorded, nor is what else comes of a job of that size, as "
                              "after an elastic restart",
                              attempt.pid, where, rank, worldSize, info_.worldSize));
  }
  Process& process = processes_[static_cast<std::size_t>(rank)];
  trace::Segment& segment = segments_[static_cast<std::size_t>(rank)];
  if (process.isHere) {
    const bool isElsewhere = process.part != attempt.part && process.part != kHere;
    return refuse(
        attempt, "twice " + std::to_string(rank),
        fmt::format("process {}{} says that it is rank {}, which process {}{} is already: "
                    "it is not recorded",
                    attempt.pid, where, rank, process.pid,
                    isElsewhere ? " on " + commands_[process.part].host : ""));
  }
  // Its events have the clock of the host that it was on.
  if (process.hasAttached && process.part != attempt.part && process.host == attempt.host) {
    return refuse(attempt, "another relay",
                  fmt::format("rank {} comes again, as process {} on {}, and not by the lockstep "
                              "join that it came by before: it is not recorded any more",
                              rank, attempt.pid, commands_[attempt.part].host));
  }
  if (process.hasAttached && process.part != attempt.part) {
    return refuse(
        attempt, "moved",
        fmt::format("the job was started again, and rank {}, recorded on {}, is process {} "
                    "on {} now: a run has the times of a rank by the clock of one host, "
                    "and ranks that have moved are not recorded any more",
                    rank, commands_[process.part].host, attempt.pid, commands_[attempt.part].host));
  }
  const Admission admission{&segment, firstStepOf(rank)};
  if (process.hasAttached) {
    log(rank, fmt::format("rank {} was started again, as process {}, at step {}", rank, attempt.pid,
                          admission.step));
  }
  segment.header().captureEnabled.store(capture_ ? 1 : 0, std::memory_order_relaxed);
  forgetTraces(segment.header());
  process = {};
  process.hasAttached = true;
  process.part = attempt.part;
  process.pid = attempt.pid;
  process.host = attempt.host;
  process.isHere = true;
  if (!attempt.isVisible) {
    // Its number is one of another host or container, and may be any process here.
    recorder_->skipProcessCounters(rank);
  }
  recorder_->updateRank(rank, [pid = attempt.pid, host = attempt.host](trace::RankInfo& info) {
    info.pid = pid;
    info.host = host;
    info.state = "starting";
  });
  return admission;
}

/// As far as the rank has said, which is further than what was written of it where the disk is
/// slow.
std::uint32_t Observation::stepsBegun(int rank) const {
  if (!processes_[static_cast<std::size_t>(rank)].hasAttached) {
    return 0;
  }
  const Obituary words = lastWords(rank);
  return words.training ? words.step + 1 : 0;
}

/// Which step a process begins with, or goes on with. Where all have ended, the job was started
/// again, and all of its ranks go on with one step, after every one that was begun before.
std::uint32_t Observation::firstStepOf(int rank) {
  if (!processes_[static_cast<std::size_t>(rank)].hasAttached) {
    return 0;  // others may have come and gone: ranks need not meet
  }
  const bool anew = std::none_of(processes_.begin(), processes_.end(),
                                 [](const Process& process) { return process.isHere; });
  for (int other = 0; anew && other < static_cast<int>(processes_.size()); ++other) {
    lifeBegan_ = std::max(lifeBegan_, stepsBegun(other));
  }
  return std::max(lifeBegan_, stepsBegun(rank));
}

/// Why a process is not recorded. The run has one sentence of a kind, since a job that was started
/// again comes with all of its ranks; every process has its own.
base::Error Observation::refuse(const Attempt& attempt, const std::string& kind, std::string why) {
  if (refusals_.insert(kind).second) {
    recorder_->addProblem(
        {0, "warning", std::min(attempt.hello.rank, info_.worldSize - 1), 0, why});
  } else {
    log(-1, why);
  }
  return {ExitCode::kBadInput, std::move(why), "attach"};
}

JobOutcome Observation::run(const Parts& parts) {
  parts_ = parts;
  if (auto added = loop_.add(signals_.fd(), [this] { onSignal(); }); !added.ok()) {
    press(Pressure::kKilled);
    log(-1, added.error().message());
  }
  while (!isOver()) {
    loop_.waitUntil(std::min(nextTick_, pressureDeadline_));
    const auto now = Clock::now();
    if (now >= pressureDeadline_) {
      // SIGINT first: a Python program answers it with an exception, and may still save its work.
      press(pressure_ == Pressure::kInterrupted ? Pressure::kTerminated : Pressure::kKilled);
    }
    if (now >= nextTick_) {
      tick();
    }
  }
  loop_.remove(signals_.fd());
  if (parts_.elsewhere != nullptr) {
    outlives_ = parts_.elsewhere->livingNames();
    parts_.elsewhere->finish();
  }
  return conclude();
}

// This host's command decides. Processes that it left behind have 3 s, commands of other hosts
// othersGrace.
bool Observation::isOver() const {
  const auto now = Clock::now();
  return endedAt_ != TimePoint::max() &&
         (parts_.here->livingProcesses() == 0 || now >= endedAt_ + kOutliving) &&
         (parts_.elsewhere == nullptr || parts_.elsewhere->living() == 0 || now >= othersUntil());
}

/// Until when the commands of other hosts are waited for, this host's having ended.
Observation::TimePoint Observation::othersUntil() const {
  return pressure_ == Pressure::kNone     ? endedAt_ + options_.othersGrace
         : pressure_ == Pressure::kKilled ? std::max(endedAt_, killedAt_) + kDying
                                          // While they are being ended, `press` has the deadlines.
                                          : TimePoint::max();
}

void Observation::log(int rank, std::string text) {
  if (recorder_) {
    recorder_->addLog(rank, std::move(text));
  } else {
    earlyLog_.emplace_back(rank, std::move(text));
  }
}

void Observation::keepLine(const PartId& part, std::string_view line) {
  Part& command = commands_[part];
  if (command.kept.take(line)) {
    log(-1, part == kHere ? std::string(line) : fmt::format("{}: {}", command.host, line));
  }
}

void Observation::commandStarted(const PartId& part, const std::string& host, std::int64_t pid) {
  commands_[part].host = host;
  commands_[part].pid = pid;
}

void Observation::commandWrote(const PartId& part, bool isError, std::string_view bytes) {
  if (part == kHere && options_.wrote) {
    options_.wrote(isError, bytes);
  }
  Part& command = commands_[part];
  if (isError) {
    command.errorTail.feed(bytes);
  }
  command.lines[isError ? 1 : 0].feed(bytes, [&](std::string_view line) { keepLine(part, line); });
}

void Observation::commandEnded(const PartId& part, const posix::ProcessEnd& end) {
  Part& command = commands_[part];
  command.end = end;
  command.order = commandsEnded_++;
  if (part == kHere) {
    endedAt_ = Clock::now();
  }
}

void Observation::processEnded(int rank) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  if (!process.isHere) {
    return;
  }
  process.isHere = false;
  process.order = ended_++;
  process.endedAt = base::readClock().ticks;
  // Nobody tells how a process ends that is not our child, and a suspended one ends as whoever
  // started it likes. So it is looked at while it still stands, as those that waited for it end.
  for (int other = 0; other < static_cast<int>(processes_.size()); ++other) {
    Process& standing = processes_[static_cast<std::size_t>(other)];
    if (standing.isHere) {
      standing.wasSuspended = isSuspended(other);
    }
  }
}

bool Observation::isSuspended(int rank) const {
  const Process& process = processes_[static_cast<std::size_t>(rank)];
  return process.part == kHere ? isStopped(process.pid) : parts_.elsewhere->isStopped(rank);
}

void Observation::partLost(const PartId& part, const std::string& text) {
  int first = -1;
  // Backwards, so that `first` is the lowest of them at last.
  for (int rank = static_cast<int>(processes_.size()) - 1; rank >= 0; --rank) {
    Process& process = processes_[static_cast<std::size_t>(rank)];
    if (process.part == part && process.isHere) {
      process.lost = text;
      processEnded(rank);
      first = rank;
    }
  }
  lost_ += (lost_.empty() ? "" : "; ") + text;
  log(-1, text);
  if (recorder_) {
    recorder_->addProblem(
        {0, "warning", first, 0, text + "; what it does is not recorded any more"});
  }
}

void Observation::onSignal() {
  while (const auto signal = signals_.next()) {
    if (pressure_ == Pressure::kNone) {
      stop(signalName(*signal));
    } else {
      press(Pressure::kKilled);
    }
  }
}

void Observation::stop(const std::string& who) {
  if (pressure_ == Pressure::kNone) {
    log(-1, "stop: asked for by " + who);
    press(Pressure::kInterrupted);
  }
}

void Observation::press(Pressure pressure) {
  pressure_ = pressure;
  const bool kills = pressure == Pressure::kKilled;
  pressureDeadline_ = kills ? TimePoint::max() : Clock::now() + options_.stopGrace;
  killedAt_ = kills ? Clock::now() : killedAt_;
  const int signal = pressure == Pressure::kInterrupted  ? SIGINT
                     : pressure == Pressure::kTerminated ? SIGTERM
                                                         : SIGKILL;
  // Its processes are the command's to end; SIGKILL goes to each of them (JobParts::send).
  parts_.here->send(signal);
  if (parts_.elsewhere != nullptr) {
    parts_.elsewhere->send(signal);
  }
}

Obituary Observation::lastWords(int rank) const {
  const auto& words = segments_[static_cast<std::size_t>(rank)].lastWords();
  const auto now = base::readClock();
  const std::uint64_t endedAt = processes_[static_cast<std::size_t>(rank)].endedAt;
  return readLastWords(words, base::calibrate(startReading_, now),
                       endedAt != 0 ? endedAt : now.ticks);
}

void Observation::tick() {
  nextTick_ = Clock::now() + kLookEvery;
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    Process& process = processes_[static_cast<std::size_t>(rank)];
    // A run is running once any rank trains. Before that it may be downloading data for an hour.
    if (process.isHere && !process.training && lastWords(rank).training) {
      process.training = true;
      recordRunning(*recorder_, rank, state_);
    }
  }
  if (parts_.elsewhere != nullptr) {
    parts_.elsewhere->tick();
  }
}

std::string Observation::answer(const ControlCommand& command) {
  switch (command.kind) {
    case ControlCommand::Kind::kStop:
      stop("a command");
      return controlDone();
    case ControlCommand::Kind::kCapture:
      capture_ = command.enabled;
      parts_.here->setCapture(capture_);
      if (parts_.elsewhere != nullptr) {
        parts_.elsewhere->setCapture(capture_);
      }
      log(-1, capture_ ? "capture: on" : "capture: off");
      return controlDone();
    case ControlCommand::Kind::kTrace:
      return traceRanks(command.steps);
    case ControlCommand::Kind::kSet:
      return controlRefused("this run is observed: its settings are its own program's");
    case ControlCommand::Kind::kStatus:
      break;
  }
  return toJson(ControlStatus{state_, pressure_ != Pressure::kNone,
                              recorder_ ? recorder_->progress() : trace::Recorder::Progress{},
                              capture_});
}

std::string Observation::traceRanks(int steps) {
  std::vector<TracedRank> ranks;
  std::vector<int> numbers;
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    const Process& process = processes_[rank];
    TracedRank& traced = ranks.emplace_back();
    traced.rank = static_cast<int>(rank);
    traced.pid = process.pid;
    traced.isHere = process.isHere;
    traced.otherHost = process.part == kHere ? "" : commands_[process.part].host;
    traced.isStopped = isSuspended(traced.rank);
    traced.header = &segments_[rank].header();
    numbers.push_back(traced.rank);
  }
  const auto asked = requestTraces(ranks, steps);
  if (!asked.ok()) {
    return controlRefused(asked.error().what);
  }
  if (parts_.elsewhere != nullptr) {
    parts_.elsewhere->requestTrace(asked.value());
  }
  log(-1, steps == 1 ? "capture: the next iteration of every rank"
                     : fmt::format("capture: the next {} iterations of every rank", steps));
  return nlohmann::json{{"ok", true}, {"ranks", numbers}}.dump();
}

base::Status Observation::finish() {
  if (!recorder_) {
    writer_.reset();
    return {};
  }
  return recorder_->finish();
}

}  // namespace lockstep::launch::detail
