#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/Segment.h"

namespace lockstep::trace {

/// Drains the ranks' segments into a run file on a thread of its own ("recorder"), so that
/// neither the ranks nor the supervisor ever wait for the disk. Commits with each pass while there
/// is something new, how often: RecorderPace. All members are [any-thread].
///
/// Beside the ranks' events it writes, Rates::countersHz times a second at most and without the
/// ranks' help, the counters of CounterId for every rank whose RankInfo::pid is known, and the wire
/// bytes; of a rank on another host, or where skipProcessCounters was called, only those that its
/// segment tells. The parameters and layouts stored are rank 0's; another rank's that differ become
/// a problem that names the rank and the first difference. Events and what comes with them (losses)
/// keep the ticks of the rank's host (RankInfo::host); what the recorder stamps itself, as it takes
/// messages, counters and logs, has the recording host's. Loss of events: Note [Gaps] in
/// RankDrain.cpp. What happens in which order: Note [A recorder's pass] in Recorder.cpp.
class Recorder {
 public:
  /// What the supervisor's progress line shows.
  struct Progress {
    std::vector<std::uint32_t> steps;  ///< last finished step + 1 of each rank; 0 = none yet
    std::uint32_t plannedSteps = 0;    ///< RunInfo's; 0 = not known (yet)
    double loss = 0;                   ///< last of rank 0
    std::string startup;               ///< last stage that began, while no step is done
    std::uint64_t events = 0;
    std::uint64_t dropped = 0;      ///< by ranks whose rings were full
    std::uint64_t notRecorded = 0;  ///< drained after the run file failed
    bool diverged = false;          ///< RunInfo::divergence is there
  };

  /// How often it works.
  struct Rates {
    std::chrono::milliseconds drainEvery;  ///< shortest wait between two passes, 1 to 50 ms
    double countersHz = 10;                ///< counters a second at most; 0 takes none
  };

  /// `segments[r]` is rank r's; they outlive the recorder. `info` is the first RunInfo.
  static std::unique_ptr<Recorder> start(std::unique_ptr<RunFileWriter> writer, RunInfo info,
                                         std::vector<Segment*> segments, Rates rates);
  virtual ~Recorder() = default;

  /// An ended state (hasEnded()) reaches the file with the last rows, in `finish`, so that a reader
  /// that sees it has everything. A run that has diverged (Note [Diverged]) and would end as
  /// kFinished or kStopped ends as kDiverged there, with that exit code and with its sentence as
  /// the failure.
  virtual void updateInfo(std::function<void(RunInfo&)> change) = 0;
  virtual void updateRank(int rank, std::function<void(RankInfo&)> change) = 0;
  /// Takes no counters of the rank's process: RankInfo::pid is a number of other processes here
  /// (a container's), and its segment tells them. Say so before its pid.
  virtual void skipProcessCounters(int rank) = 0;
  virtual void addLog(int rank, std::string text) = 0;
  virtual void addProblem(ProblemRow problem) = 0;
  virtual void addMetric(MetricRow metric) = 0;

  /// Adds a host that ranks run on, or replaces what is known of it. The recording host is there
  /// from the start. Say by updateRank which host a rank is on before its first event is drained.
  virtual void addHost(HostInfo host) = 0;

  /// A better clock of another host, as RunFileWriter::addClock takes it. Readers hold that host's
  /// rows back until the first one. Each call writes a row: leave out what hardly differs.
  virtual void updateHostClock(int host, base::ClockCalibration clock, ClockOffset offset) = 0;

  [[nodiscard]] virtual Progress progress() const = 0;

  /// As it stands; after `finish` as the file has it.
  [[nodiscard]] virtual RunInfo info() const = 0;

  /// The first error of the run file (a full disk, say). The ranks train on; what came after
  /// it is not recorded.
  [[nodiscard]] virtual base::Status status() const = 0;

  /// Drains what is left, writes the last clock calibration and finishes the file. Later calls
  /// of any member but progress(), info() and status() do nothing. The destructor calls it.
  virtual base::Status finish() = 0;
};

}  // namespace lockstep::trace
