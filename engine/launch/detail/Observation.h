#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/posix/EventLoop.h"
#include "engine/launch/ControlSocket.h"
#include "engine/launch/Job.h"
#include "engine/launch/OutputText.h"
#include "engine/launch/SignalQueue.h"
#include "engine/launch/Verdict.h"
#include "engine/launch/detail/JobParts.h"
#include "engine/launch/detail/LocalPart.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// The parts of a job that is recorded. Note [The parts of a job].
struct Parts {
  LocalPart* here = nullptr;
  OtherParts* elsewhere = nullptr;  ///< null: the job is of this host alone
};

/// Records one job: what its commands write, and the processes that attach, of which the first says
/// how many ranks there are. One thread, the main one.
class Observation final : private PartWatcher {
 public:
  /// `info`: the first RunInfo, without a world size. The others outlive this.
  Observation(const JobOptions& options, posix::EventLoop& loop, SignalQueue& signals,
              std::unique_ptr<trace::RunFileWriter> writer, trace::RunInfo info);

  /// Whom the parts tell.
  [[nodiscard]] PartWatcher& watcher() { return *this; }

  /// Answers one command of the control socket.
  std::string answer(const ControlCommand& command);

  /// Records the parts, which have been started, until this host's command has ended, and the
  /// processes that attached, and the commands of other hosts.
  JobOutcome run(const Parts& parts);

  /// Writes what is left. Returns the error of a run file that is incomplete.
  base::Status finish();

  /// Whether a process has attached: without one there is no run.
  [[nodiscard]] bool hasRecorded() const { return recorder_ != nullptr; }
  /// As the file has it, after `finish`.
  [[nodiscard]] trace::RunInfo info() const { return recorder_->info(); }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// What was done to the commands to end them.
  enum class Pressure { kNone, kInterrupted, kTerminated, kKilled };

  /// A command and what it wrote.
  struct Part {
    std::string host;
    std::int64_t pid = 0;
    std::optional<posix::ProcessEnd> end;
    int order = 0;          // 0 = the first that ended
    LineSplitter lines[2];  // of stdout and stderr
    LineBudget kept;
    OutputTail errorTail;
    [[nodiscard]] bool succeeded() const { return end && end->signal == 0 && end->exitCode == 0; }
  };

  /// One rank's process: the last, where another took its place.
  struct Process {
    bool hasAttached = false;
    PartId part;
    std::int64_t pid = 0;
    int host = trace::kRecordingHost;
    bool isHere = false;
    bool training = false;
    int order = 0;              // 0 = the first that ended
    std::uint64_t endedAt = 0;  // by readClock(); 0: it has not ended
    bool wasSuspended = false;  // (SIGSTOP) when another process of the job ended last
    std::string lost;           // why nothing more was heard of it
  };

  void commandStarted(const PartId& part, const std::string& host, std::int64_t pid) override;
  void commandWrote(const PartId& part, bool isError, std::string_view bytes) override;
  void commandEnded(const PartId& part, const posix::ProcessEnd& end) override;
  base::Result<Admission> attaches(const Attempt& attempt) override;
  void processEnded(int rank) override;
  void partLost(const PartId& part, const std::string& text) override;
  void stopAsked(const std::string& who) override { stop(who); }

  base::Status begin(int worldSize);
  [[nodiscard]] std::uint32_t stepsBegun(int rank) const;
  std::uint32_t firstStepOf(int rank);
  base::Error refuse(const Attempt& attempt, const std::string& kind, std::string why);
  void keepLine(const PartId& part, std::string_view line);
  [[nodiscard]] bool isOver() const;
  [[nodiscard]] TimePoint othersUntil() const;
  void onSignal();
  void stop(const std::string& who);
  std::string traceRanks(int steps);
  void press(Pressure pressure);
  void tick();
  void log(int rank, std::string text);
  [[nodiscard]] bool isSuspended(int rank) const;
  [[nodiscard]] Obituary lastWords(int rank) const;
  [[nodiscard]] bool othersWentOnWithout(int rank) const;
  [[nodiscard]] std::vector<RankEnd> ends() const;
  void nameWhoDidNotCome(std::vector<RankEnd>& ends) const;
  void recordEnds(const std::vector<RankEnd>& ends);
  [[nodiscard]] const Part* failedCommand() const;
  JobOutcome conclude();

  const JobOptions& options_;
  posix::EventLoop& loop_;
  SignalQueue& signals_;
  std::unique_ptr<trace::RunFileWriter> writer_;  // until the first process attaches
  trace::RunInfo info_;                           // likewise
  std::vector<std::pair<int, std::string>> earlyLog_;
  std::vector<trace::Segment> segments_;
  std::unique_ptr<trace::Recorder> recorder_;  // ends before the segments
  std::vector<Process> processes_;
  Parts parts_;
  std::map<PartId, Part> commands_;
  std::uint32_t lifeBegan_ = 0;     // the first step that is of the job since it was started again
  std::set<std::string> refusals_;  // kinds of them that stand in the run file
  std::string lost_;                // what was lost, where something was
  std::string outlives_;            // the parts elsewhere that were not waited for
  trace::RunState state_ = trace::RunState::kStarting;
  Pressure pressure_ = Pressure::kNone;
  bool capture_ = true;
  base::ClockReading startReading_ = base::readClock();
  TimePoint nextTick_ = std::chrono::steady_clock::now();
  TimePoint pressureDeadline_ = TimePoint::max();
  TimePoint endedAt_ = TimePoint::max();  // this host's command
  TimePoint killedAt_ = TimePoint::max();
  int ended_ = 0;  // processes
  int commandsEnded_ = 0;
};

}  // namespace lockstep::launch::detail
