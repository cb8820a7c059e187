#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/launch/ChildProcess.h"
#include "engine/launch/ControlSocket.h"
#include "engine/launch/EventLoop.h"
#include "engine/launch/Job.h"
#include "engine/launch/OutputText.h"
#include "engine/launch/SignalQueue.h"
#include "engine/launch/Verdict.h"
#include "engine/launch/detail/Attaching.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// Records one job: its command's output, and the processes that attach, of which the first says
/// how many ranks there are. One thread, the main one.
class Observation {
 public:
  /// `info`: the first RunInfo, without a world size. The others outlive this.
  Observation(const JobOptions& options, EventLoop& loop, SignalQueue& signals,
              std::unique_ptr<trace::RunFileWriter> writer, trace::RunInfo info);

  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  /// Answers one command of the control socket.
  std::string answer(const ControlCommand& command);

  /// Hands a process its event memory. Error: it cannot be a rank of this run.
  base::Result<Handover> attach(const Hello& hello, pid_t pid);

  /// Returns once the command has ended, and with it the processes that attached.
  JobOutcome run(ChildProcess command);

  /// Writes what is left. Returns the error of a run file that is incomplete.
  base::Status finish();

  /// Whether a process has attached: without one there is no run.
  [[nodiscard]] bool hasRecorded() const { return recorder_ != nullptr; }
  /// As the file has it, after `finish`.
  [[nodiscard]] trace::RunInfo info() const { return recorder_->info(); }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// What was done to the command to end it.
  enum class Pressure { kNone, kInterrupted, kTerminated, kKilled };

  /// One rank's process: the last, where another took its place.
  struct Process {
    pid_t pid = 0;
    int pidFd = -1;  // -1: not visible from here, or it has ended
    bool isHere = false;
    bool training = false;
    int order = 0;  // 0 = the first that ended
  };

  base::Status begin(int worldSize);
  void readOutput(bool isError);
  void keepLine(std::string_view line);
  void commandMayHaveEnded();
  void processEnded(int rank);
  void onSignal();
  void stop(const std::string& who);
  std::string traceRanks(int steps);
  void press(Pressure pressure);
  void tick();
  void log(int rank, std::string text);
  [[nodiscard]] int livingProcesses() const;
  [[nodiscard]] Obituary lastWords(int rank) const;
  [[nodiscard]] std::vector<RankEnd> ends() const;
  void recordEnds(const std::vector<RankEnd>& ends);
  JobOutcome conclude();

  const JobOptions& options_;
  EventLoop& loop_;
  SignalQueue& signals_;
  std::unique_ptr<trace::RunFileWriter> writer_;  // until the first process attaches
  trace::RunInfo info_;                           // likewise
  std::vector<std::pair<int, std::string>> earlyLog_;
  std::vector<trace::Segment> segments_;
  std::unique_ptr<trace::Recorder> recorder_;  // ends before the segments
  std::vector<Process> processes_;
  std::optional<ChildProcess> command_;
  pid_t commandPid_ = 0;
  std::optional<ProcessEnd> commandEnd_;
  LineSplitter lines_[2];  // of stdout and stderr
  LineBudget kept_;
  OutputTail errorTail_;
  trace::RunState state_ = trace::RunState::kStarting;
  Pressure pressure_ = Pressure::kNone;
  bool capture_ = true;
  base::ClockReading startReading_ = base::readClock();
  TimePoint nextTick_ = std::chrono::steady_clock::now();
  TimePoint pressureDeadline_ = TimePoint::max();
  TimePoint lingerDeadline_ = TimePoint::max();  // of processes that outlive the command
  int ended_ = 0;
};

}  // namespace lockstep::launch::detail
