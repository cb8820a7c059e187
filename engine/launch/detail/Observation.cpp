#include "engine/launch/detail/Observation.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/launch/detail/Preparation.h"
#include "engine/launch/detail/TraceRequest.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;
using trace::RunState;
using Clock = std::chrono::steady_clock;

constexpr auto kLookEvery = std::chrono::milliseconds(100);
constexpr auto kEmptyEvery = std::chrono::milliseconds(20);
constexpr auto kOutliving = std::chrono::seconds(3);
constexpr std::size_t kPieceBytes = 64 * 1024;

/// A process of PyTorch writes on a handful of threads, and a few hundred events a step.
constexpr trace::SegmentOptions kMemory{24, 1u << 14, 4u << 20};

/// Whether an error only says that another rank went away or stood still.
bool isOfAMessenger(std::string_view error) {
  constexpr std::array kSigns{"Connection closed by peer", "Connection reset by peer",
                              "Connection refused",        "Broken pipe",
                              "Timed out waiting",         "timed out",
                              "DistBackendError",          "DistNetworkError",
                              "recvValue failed"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](const char* sign) { return error.find(sign) != std::string_view::npos; });
}

}  // namespace

Observation::Observation(const JobOptions& options, EventLoop& loop, SignalQueue& signals,
                         std::unique_ptr<trace::RunFileWriter> writer, trace::RunInfo info)
    : options_(options),
      loop_(loop),
      signals_(signals),
      writer_(std::move(writer)),
      info_(std::move(info)) {}

Observation::~Observation() {
  for (const Process& process : processes_) {
    if (process.pidFd >= 0) {
      loop_.remove(process.pidFd);
      close(process.pidFd);
    }
  }
}

base::Status Observation::begin(int worldSize) {
  if (auto enough = ensureDescriptors(worldSize); !enough.ok()) {
    return enough;
  }
  auto segments = makeSegments(kMemory, worldSize, capture_);
  if (!segments.ok()) {
    return segments.error();
  }
  segments_ = std::move(segments).value();
  std::vector<trace::Segment*> pointers;
  for (trace::Segment& segment : segments_) {
    pointers.push_back(&segment);
  }
  info_.worldSize = worldSize;
  recorder_ = trace::Recorder::start(std::move(writer_), info_, std::move(pointers), kEmptyEvery);
  processes_.resize(static_cast<std::size_t>(worldSize));
  for (auto& [rank, text] : earlyLog_) {
    recorder_->addLog(rank, std::move(text));
  }
  earlyLog_.clear();
  return {};
}

base::Result<Handover> Observation::attach(const Hello& hello, pid_t pid) {
  if (!recorder_) {
    if (auto begun = begin(hello.worldSize); !begun.ok()) {
      log(-1, begun.error().message());
      return begun.error();
    }
  }
  const auto refuse = [&](std::string why) {
    recorder_->addProblem({0, "warning", std::min(hello.rank, info_.worldSize - 1), 0, why});
    return Error{ExitCode::kBadInput, std::move(why), "attach"};
  };
  if (hello.worldSize != info_.worldSize) {
    return refuse(
        fmt::format("process {} is rank {} of {} ranks, and this run began with {}: it is "
                    "not recorded",
                    pid, hello.rank, hello.worldSize, info_.worldSize));
  }
  Process& process = processes_[static_cast<std::size_t>(hello.rank)];
  trace::Segment& segment = segments_[static_cast<std::size_t>(hello.rank)];
  if (process.isHere) {
    return refuse(
        fmt::format("process {} says that it is rank {}, which process {} is already: it "
                    "is not recorded",
                    pid, hello.rank, process.pid));
  }
  Handover handover;
  handover.fd = segment.fd();
  const auto steps = recorder_->progress().steps;
  handover.step = steps[static_cast<std::size_t>(hello.rank)];
  if (process.pid != 0) {
    log(hello.rank, fmt::format("rank {} was started again, as process {}, at step {}", hello.rank,
                                pid, handover.step));
    segment.lastWords().finished.store(0);
    segment.lastWords().error[0] = '\0';
  }
  process = {};
  process.pid = pid;
  process.isHere = true;
  // The C library of Debian 12 declares its own wrapper in a way that C++ cannot link.
  process.pidFd = pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1;
  if (process.pidFd >= 0) {
    static_cast<void>(loop_.add(process.pidFd, [this, rank = hello.rank] { processEnded(rank); }));
  }
  recorder_->updateRank(hello.rank, [pid](trace::RankInfo& info) {
    info.pid = pid;
    info.state = "starting";
  });
  return handover;
}

JobOutcome Observation::run(ChildProcess command) {
  command_.emplace(std::move(command));
  commandPid_ = command_->pid();
  const std::array<std::pair<int, std::function<void()>>, 4> watched{{
      {signals_.fd(), [this] { onSignal(); }},
      {command_->outputFd(), [this] { readOutput(false); }},
      {command_->errorFd(), [this] { readOutput(true); }},
      {command_->pidFd(), [this] { commandMayHaveEnded(); }},
  }};
  for (const auto& [fd, callback] : watched) {
    if (auto added = loop_.add(fd, callback); !added.ok()) {
      press(Pressure::kKilled);
      log(-1, added.error().message());
    }
  }
  while (!commandEnd_ || (livingProcesses() > 0 && Clock::now() < lingerDeadline_)) {
    loop_.waitUntil(std::min({nextTick_, pressureDeadline_, lingerDeadline_}));
    const auto now = Clock::now();
    if (now >= pressureDeadline_) {
      press(pressure_ == Pressure::kInterrupted ? Pressure::kTerminated : Pressure::kKilled);
    }
    if (now >= nextTick_) {
      tick();
    }
  }
  loop_.remove(signals_.fd());
  return conclude();
}

void Observation::log(int rank, std::string text) {
  if (recorder_) {
    recorder_->addLog(rank, std::move(text));
  } else {
    earlyLog_.emplace_back(rank, std::move(text));
  }
}

void Observation::keepLine(std::string_view line) {
  if (kept_.take(line)) {
    log(-1, std::string(line));
  }
}

void Observation::readOutput(bool isError) {
  const int fd = !command_ ? -1 : isError ? command_->errorFd() : command_->outputFd();
  if (fd < 0) {
    return;
  }
  std::array<char, kPieceBytes> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    if (options_.wrote) {
      options_.wrote(isError, bytes);
    }
    if (isError) {
      errorTail_.feed(bytes);
    }
    lines_[isError ? 1 : 0].feed(bytes, [this](std::string_view line) { keepLine(line); });
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    loop_.remove(fd);
    isError ? command_->closeError() : command_->closeOutput();
  }
}

void Observation::commandMayHaveEnded() {
  const auto end = command_ ? command_->reap() : std::nullopt;
  if (!end) {
    return;
  }
  for (const bool isError : {false, true}) {
    for (int reads = 0; reads < 64; ++reads) {  // a descendant may hold the pipe open
      readOutput(isError);
    }
  }
  for (const int fd : {command_->outputFd(), command_->errorFd(), command_->pidFd()}) {
    loop_.remove(fd);
  }
  command_.reset();
  commandEnd_ = end;
  pressureDeadline_ = TimePoint::max();
  lingerDeadline_ = Clock::now() + kOutliving;
}

void Observation::processEnded(int rank) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  if (!process.isHere) {
    return;
  }
  loop_.remove(process.pidFd);
  close(std::exchange(process.pidFd, -1));
  process.isHere = false;
  process.order = ended_++;
}

int Observation::livingProcesses() const {
  return static_cast<int>(std::count_if(processes_.begin(), processes_.end(),
                                        [](const Process& process) { return process.pidFd >= 0; }));
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
  pressureDeadline_ =
      pressure == Pressure::kKilled ? TimePoint::max() : Clock::now() + options_.stopGrace;
  if (command_) {
    command_->send(pressure == Pressure::kInterrupted  ? SIGINT
                   : pressure == Pressure::kTerminated ? SIGTERM
                                                       : SIGKILL);
  }
  if (pressure == Pressure::kKilled) {
    for (const Process& process : processes_) {
      if (process.pidFd >= 0) {
        static_cast<void>(syscall(SYS_pidfd_send_signal, process.pidFd, SIGKILL, nullptr, 0));
      }
    }
  }
}

Obituary Observation::lastWords(int rank) const {
  const auto now = base::readClock();
  return readLastWords(segments_[static_cast<std::size_t>(rank)].lastWords(),
                       base::calibrate(startReading_, now), now.ticks);
}

void Observation::tick() {
  nextTick_ = Clock::now() + kLookEvery;
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    Process& process = processes_[static_cast<std::size_t>(rank)];
    if (process.isHere && !process.training && lastWords(rank).training) {
      process.training = true;
      recorder_->updateRank(rank, [](trace::RankInfo& info) { info.state = "running"; });
      if (state_ == RunState::kStarting) {
        state_ = RunState::kRunning;
        recorder_->updateInfo([](trace::RunInfo& info) { info.state = RunState::kRunning; });
      }
    }
  }
}

std::string Observation::answer(const ControlCommand& command) {
  switch (command.kind) {
    case ControlCommand::Kind::kStop:
      stop("a command");
      return R"({"ok":true})";
    case ControlCommand::Kind::kCapture:
      capture_ = command.enabled;
      for (trace::Segment& segment : segments_) {
        segment.header().captureEnabled.store(capture_ ? 1 : 0, std::memory_order_relaxed);
      }
      log(-1, capture_ ? "capture: on" : "capture: off");
      return R"({"ok":true})";
    case ControlCommand::Kind::kTrace:
      return traceRanks(command.steps);
    case ControlCommand::Kind::kSet:
      return nlohmann::json{{"ok", false},
                            {"error", "this run is observed: its settings are its own program's"}}
          .dump();
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
    ranks.push_back({static_cast<int>(rank), processes_[rank].pid, processes_[rank].isHere,
                     &segments_[rank].header()});
    numbers.push_back(static_cast<int>(rank));
  }
  if (auto asked = requestTraces(ranks, steps); !asked.ok()) {
    return nlohmann::json{{"ok", false}, {"error", asked.error().what}}.dump();
  }
  log(-1, fmt::format("capture: the next {} iterations of every rank", steps));
  return nlohmann::json{{"ok", true}, {"ranks", numbers}}.dump();
}

/// How each rank ended. The kernel tells that of our own child alone; of the others it is known
/// what they said last, and how the command came out that started them.
std::vector<RankEnd> Observation::ends() const {
  std::vector<RankEnd> ends;
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    const Process& process = processes_[static_cast<std::size_t>(rank)];
    if (process.pid == 0) {
      continue;
    }
    RankEnd& end = ends.emplace_back();
    end.rank = rank;
    end.order = process.isHere ? ended_ : process.order;
    end.words = lastWords(rank);
  }
  std::sort(ends.begin(), ends.end(),
            [](const RankEnd& a, const RankEnd& b) { return a.order < b.order; });
  const bool commandSucceeded = commandEnd_->signal == 0 && commandEnd_->exitCode == 0;
  bool failed = false;
  for (RankEnd& end : ends) {
    const Process& process = processes_[static_cast<std::size_t>(end.rank)];
    if (process.pid == commandPid_) {
      end.end = *commandEnd_;
      end.words.finished = commandSucceeded;
      end.lastErrorLine = errorTail_.lastLine();
      failed |= !endedWell(end);
      continue;
    }
    end.isCodeKnown = false;
    if (!end.words.error.empty()) {
      end.end.exitCode =
          isOfAMessenger(end.words.error) ? static_cast<int>(ExitCode::kCommFailed) : 1;
    } else if (commandSucceeded || process.isHere) {
      end.words.finished = true;  // a process need not say so: os._exit()
    } else if (!end.words.finished && failed) {
      end.end.signal = SIGTERM;  // as torchrun ends those that are left
      end.killedByUs = true;
    } else if (!end.words.finished) {
      end.lost = "its process ended without a word, as one does that is killed";
    }
    failed |= !endedWell(end);
  }
  return ends;
}

void Observation::recordEnds(const std::vector<RankEnd>& ends) {
  for (const RankEnd& end : ends) {
    const bool well = endedWell(end);
    const bool isHere = processes_[static_cast<std::size_t>(end.rank)].isHere;
    recorder_->updateRank(end.rank, [&](trace::RankInfo& info) {
      info.state = well                           ? "finished"
                   : pressure_ != Pressure::kNone ? "stopped"
                   : !end.lost.empty()            ? "lost"
                   : end.end.signal != 0          ? "killed"
                                                  : "failed";
      info.signal = end.end.signal;
      info.lastWords = well ? "" : describe(end);
    });
    recorder_->addLog(-1, isHere
                              ? fmt::format("rank {}'s process {} outlives the command", end.rank,
                                            processes_[static_cast<std::size_t>(end.rank)].pid)
                              : describe(end));
  }
}

JobOutcome Observation::conclude() {
  for (LineSplitter& lines : lines_) {
    lines.flush([this](std::string_view line) { keepLine(line); });
  }
  JobOutcome outcome;
  outcome.stopped = pressure_ != Pressure::kNone;
  outcome.exitCode = commandEnd_->signal != 0 ? 128 + commandEnd_->signal : commandEnd_->exitCode;
  const std::string& program = options_.command.front();
  if (outcome.stopped) {
    outcome.state = RunState::kStopped;
  } else if (outcome.exitCode != 0) {
    outcome.state = RunState::kFailed;
    outcome.failure =
        commandEnd_->signal != 0
            ? fmt::format("{} was ended by {}", program, signalName(commandEnd_->signal))
            : fmt::format("{} ended with exit code {}", program, outcome.exitCode);
  }
  if (!recorder_) {
    outcome.warning =
        "nothing was recorded, since no process of the command attached: watch its model "
        "(import lockstep; lockstep.watch(ddp_model, optimizer)), or give --attach auto";
    return outcome;
  }
  const std::vector<RankEnd> ends = this->ends();
  recordEnds(ends);
  int culprit = -1;
  if (outcome.state == RunState::kFailed) {
    std::vector<RankEnd> own;  // without those that were ended since another had failed
    std::copy_if(ends.begin(), ends.end(), std::back_inserter(own),
                 [](const RankEnd& end) { return !end.killedByUs; });
    if (const Verdict verdict = judge(own); !verdict.failure.empty()) {
      outcome.failure = verdict.failure;
      culprit = verdict.rank;
    }
    recorder_->addProblem(
        {0, "error", culprit, culprit < 0 ? 0 : lastWords(culprit).step, outcome.failure});
  }
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    if (processes_[static_cast<std::size_t>(rank)].pid == 0) {
      recorder_->addProblem(
          {0, "warning", rank, 0,
           fmt::format("rank {} never attached: nothing of it is recorded", rank)});
    }
  }
  if (const std::string leftOut = kept_.text(); !leftOut.empty()) {
    recorder_->addProblem({0, "warning", -1, 0, "the command's output: " + leftOut});
  }
  recorder_->updateInfo([&outcome](trace::RunInfo& info) {
    info.state = outcome.state;
    info.exitCode = outcome.exitCode;
    info.failure = outcome.failure;
    info.finishedAt = utcNow();
    info.controlSocket.clear();
  });
  return outcome;
}

base::Status Observation::finish() {
  if (!recorder_) {
    writer_.reset();
    return {};
  }
  return recorder_->finish();
}

}  // namespace lockstep::launch::detail
