#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/Result.h"
#include "engine/trace/ClockOffset.h"
#include "engine/trace/EventRecord.h"
#include "engine/trace/Messages.h"

namespace lockstep::trace {

/// Life of a run as its file says it. A file that says kStarting or kRunning while its
/// supervisor is gone is read as kRecorderDied.
enum class RunState { kStarting, kRunning, kFinished, kFailed, kStopped, kDiverged, kRecorderDied };
std::string_view name(RunState state);  // "starting", "running", "finished", "failed", ...
/// Whether it is kStarting or kRunning: more may come.
bool isLive(RunState state);
/// Whether the file itself says that nothing more will come.
bool hasEnded(RunState state);

/// Whose training a run shows: the engine's own, of an experiment; that of a job which was only
/// recorded (launch/Job.h); that of a job of which there were traces (import/ImportRun.h); or nobody's:
/// a run that was simulated (simulate/SimulatedRun.h). What is about an experiment's keys is empty in
/// all but the first.
enum class RunKind { kExperiment, kObserved, kImported, kSimulated };
std::string_view name(RunKind kind);  // "experiment", "observed", "imported", "simulated"
/// Whether a run of this kind was recorded as it ran, by Lockstep: all of its ranks, by one clock.
inline bool wasRecorded(RunKind kind) {
  return kind == RunKind::kExperiment || kind == RunKind::kObserved;
}

/// Where a run was first seen to have diverged: its replicas differ although its hook does not say
/// that they drift, or a loss or a parameter is no finite number.
struct RunDivergence {
  std::uint32_t step = 0;
  int rank = 0;
  std::string parameter;  ///< empty: not known
  std::string text;       ///< a sentence without a full stop, with all of this
  bool operator==(const RunDivergence&) const = default;
};

/// Facts about the run as a whole.
struct RunInfo {
  std::string runId;
  std::string name;            ///< experiment.name, or that of an observed job
  RunKind kind = RunKind::kExperiment;
  std::string command;         ///< of an observed job, as a shell takes it; of an imported one the
                               ///< paths it came from, of a simulated one the run; empty otherwise
  std::string experimentToml;  ///< resolved: every key written out; of an experiment alone
  RunState state = RunState::kStarting;
  std::string startedAt;       ///< UTC, ISO 8601
  std::string finishedAt;      ///< empty while it runs
  std::string failure;         ///< the one line that says why it failed
  int exitCode = 0;
  std::int64_t supervisorPid = 0;  ///< 0 is written as the process that writes the file
  std::string supervisorStart;     ///< processStart(supervisorPid) (HostFacts.h)
  std::string controlSocket;    ///< path; empty once the run has ended
  std::string hostName;
  int worldSize = 0;
  std::uint32_t plannedSteps = 0;
  std::string driftingHook;  ///< the hook that lets replicas drift by design; empty: none does
  std::optional<RunDivergence> divergence;  ///< as soon as it is seen; a run that ends with it ends
                                            ///< in kDiverged, unless it failed
  std::map<std::string, std::string> environment;  ///< versions, processor, clock source
};

/// The host that records: its ticks are the axis of everything a reader hands out.
inline constexpr int kRecordingHost = 0;

/// A machine that ranks run on, or the one that records.
struct HostInfo {
  int host = kRecordingHost;  ///< numbered from 0, the recording one
  std::string name;
  std::string address;      ///< where its launcher is reached; empty: not known, or not needed
  std::string clockSource;  ///< what a tick is there: "tsc" or "monotonic"
};

/// A host and how well its clock is known.
struct HostState {
  HostInfo info;
  /// None: its ticks cannot be placed yet. That of the recording host is 0 ± 0.
  std::optional<ClockOffset> offset;
};

/// Opens the keys of RankInfo::environment that hold what c10d's Logger knows (FORMAT.md).
inline const std::string kDdpLoggingPrefix = "ddp.";

/// Opens the keys of RankInfo::environment that hold what an observed job calls its process groups:
/// "group.2" is that of group number 2.
inline const std::string kGroupPrefix = "group.";

/// Key of RankInfo::environment by which an observed job says why it has no buckets of DDP.
inline const std::string kNoBuckets = "no_buckets";

struct RankInfo {
  int rank = 0;
  std::int64_t pid = 0;
  std::string state;  ///< "starting", "running", "finished", "stopped", "failed", "killed", "lost"
  std::optional<int> exitCode;
  int signal = 0;  ///< that ended it; 0 = none
  std::string lastWords;    ///< a sentence, once it died: what it was last in
  std::string stderrTail;
  std::string parameterHash;
  std::uint64_t wireBytes = 0;
  std::uint64_t wireMessages = 0;
  std::uint64_t eventsDropped = 0;
  std::map<std::string, std::string> environment;
  int host = kRecordingHost;  ///< HostInfo::host of the one it runs on
};

/// A lane of a rank: one thread that emits events.
struct TrackInfo {
  std::int32_t id = 0;
  int rank = 0;
  std::string name;
};

/// One row of the `spans` table, or a packed step: an instant has duration 0. Times are ticks of the
/// rank's host in the file, and ticks of the recording host as a reader hands them out, which
/// numbers packed steps and rows in the order in which it does so.
struct SpanRow {
  std::int64_t id = 0;
  std::int32_t track = 0;
  EventKind kind{};
  std::uint64_t startTicks = 0;
  std::uint64_t durationTicks = 0;
  std::uint32_t step = 0;
  std::uint16_t bucket = kNoBucket;
  std::uint16_t detail = 0;
  std::uint64_t value = 0;
};

/// One number of one rank: loss ("loss"), evaluations ("test_loss", "test_accuracy") and the
/// counters (name(CounterId)).
struct MetricRow {
  std::int64_t id = 0;
  int rank = 0;
  std::string name;
  std::uint32_t step = 0;
  std::uint64_t ticks = 0;
  double value = 0;
  int host = kRecordingHost;  ///< whose ticks they are in the file; a reader hands out host 0's
};

struct LogRow {
  std::int64_t id = 0;
  int rank = -1;  ///< -1: the supervisor
  std::uint64_t ticks = 0;  ///< of the recording host
  std::string text;
};

struct ProblemRow {
  std::int64_t id = 0;
  std::string severity;  ///< "warning" or "error"
  int rank = -1;
  std::uint32_t step = 0;
  std::string text;
};

/// One parameter of one rank as a step found it, before its forward (FingerprintMessage).
struct FingerprintRow {
  std::int64_t id = 0;
  int rank = 0;
  std::uint32_t step = 0;
  std::uint32_t parameter = 0;
  std::uint64_t hash = 0;  ///< XXH64 of its bytes
  double norm = 0;         ///< Euclidean; NaN: an element of it is not finite
};

/// base::CountSketch of all parameters of one rank, of the same moment.
struct SketchRow {
  std::int64_t id = 0;
  int rank = 0;
  std::uint32_t step = 0;
  std::vector<double> counters;
};

/// One rank's own gradients of one bucket, before the reduction.
struct GradientRow {
  std::int64_t id = 0;
  int rank = 0;
  std::uint32_t step = 0;
  GradientsMessage::Bucket gradients;
};

/// How much of one step of one rank a run file holds (engine/capture).
enum class KeptDetail : std::uint8_t {
  kSums = 0,    ///< its kStep span and its sums
  kPeer = 1,    ///< as kPhases, since on another rank the step is unlike the rest
  kPhases = 2,  ///< these, its phases, buckets and collectives
  kWhole = 3,   ///< all that was emitted
  kUnlike = 4,  ///< all that was emitted, since the step is unlike the rest
};
/// Whether means over steps that are kept so are means of the run: some are kept for what they are.
inline bool isTypical(KeptDetail kept) {
  return kept == KeptDetail::kPhases || kept == KeptDetail::kWhole;
}

/// What one step of one rank comes to. In ticks; what each is says analysis/RankActivity.h.
struct StepSums {
  std::uint64_t forward = 0;
  std::uint64_t backward = 0;
  std::uint64_t optimizer = 0;
  std::uint64_t inFlight = 0;
  std::uint64_t computing = 0;
  std::uint64_t overlap = 0;
  std::uint64_t offCore = 0;
  std::uint64_t overlapLeast = 0;
  std::uint64_t overlapMost = 0;
  bool operator==(const StepSums&) const = default;
};

/// The same, made while all spans of the step were at hand: of a step whose spans were left out it
/// is what there is.
struct StepSumsRow : StepSums {
  std::int64_t id = 0;
  int rank = 0;
  std::uint32_t step = 0;
  KeptDetail kept = KeptDetail::kSums;
  std::uint64_t coreWait = 0;
  bool operator==(const StepSumsRow&) const = default;
};

/// Keys of RunInfo::environment: what was asked to be kept ("steps", "outliers"), and a sentence
/// that says what was left out and where; without the second the file has all that was emitted.
inline const std::string kDetail = "detail";
inline const std::string kLeftOut = "left_out";

/// Everything that came since the last poll. Small tables are given whole when they changed.
struct RunUpdate {
  std::optional<RunInfo> info;
  std::optional<std::vector<RankInfo>> ranks;
  std::optional<std::vector<TrackInfo>> tracks;
  std::optional<std::vector<ParametersMessage::Parameter>> parameters;
  std::optional<std::vector<BucketsMessage>> layouts;
  std::optional<base::ClockCalibration> clock;  ///< ticks to monotonic ns of the recording host
  /// All hosts, when one came or a clock became better known. Files before 1.3 name none.
  std::optional<std::vector<HostState>> hosts;
  std::vector<SpanRow> spans;
  std::vector<MetricRow> metrics;
  std::vector<LogRow> log;
  std::vector<ProblemRow> problems;
  std::vector<FingerprintRow> fingerprints;
  std::vector<SketchRow> sketches;
  std::vector<GradientRow> gradients;
  std::vector<StepSumsRow> sums;

  [[nodiscard]] bool empty() const;
};

struct RunFileReaderOptions {
  /// Names the network file system a path lies on, "" for a local one; empty: asks statfs(2).
  std::function<std::string(const std::filesystem::path&)> networkFileSystem;
};

/// Reads a run file, live or finished. Holds neither a statement nor a lock between polls, so
/// that the writer can checkpoint its WAL and close it at the end. One thread at a time.
/// Note [Following a run] in RunFileReader.cpp.
///
/// The file says that a run has ended (hasEnded()) in the same commit as its
/// last rows: a reader that saw it and drained `spans` has everything. kRecorderDied is what a
/// reader says, once, when the supervisor is gone; nothing more will come then either.
///
/// Spans and metrics of all ranks come on the tick axis of the recording host, whose clock is
/// RunUpdate::clock. Those of other hosts are converted as they are read, by the latest clock that
/// the file knows then: after a better one, the starts of a lane may step back by as much as the
/// older one was off. Rows of a host without a clock are held back until it has one, and then come
/// after rows of higher ids. Where some are left when the run has ended, a problem says so.
class RunFileReader {
 public:
  /// Opens `path`. A finished read-only file is opened immutable; a live one on a network
  /// file system is refused; a file whose recorder died is checkpointed into one file first
  /// when it is writable. Errors: no such file, not a run file, newer major schema, corrupt.
  static base::Result<std::unique_ptr<RunFileReader>> open(
      const std::filesystem::path& path, const RunFileReaderOptions& options = {});
  virtual ~RunFileReader() = default;

  /// Returns what is new, at most `maxSpans` spans in the order of their ids (but see above for
  /// several hosts). Call until `spans` is shorter than that; then again when the file may have
  /// grown.
  virtual base::Result<RunUpdate> poll(std::size_t maxSpans = 200'000) = 0;

  [[nodiscard]] virtual const std::filesystem::path& path() const = 0;
};

/// Reads only RunInfo, ranks, hosts and the last value of each metric: for run lists.
struct RunSummary {
  RunInfo info;
  std::vector<RankInfo> ranks;
  std::vector<HostState> hosts;               ///< by number; a file before 1.3 names none
  std::map<std::string, double> lastMetrics;  ///< of rank 0
  std::uint32_t lastStep = 0;  ///< highest finished step of any rank; 0 while there is none
};
base::Result<RunSummary> readRunSummary(const std::filesystem::path& path);

struct RunFileWriterOptions {
  std::uint64_t maxBytes = 0;  ///< upper limit of the file, as if the disk ended there; 0 = none
  std::chrono::milliseconds finishPatience{3000};  ///< how long `finish` waits for readers
};

/// Writes a run file: the recorder's side, also used by tests to make files with known
/// content. Rows gather in one transaction until `commit`. One thread at a time.
/// Note [How a run file ends] in RunFileWriter.cpp.
class RunFileWriter {
 public:
  /// Creates `path`; an existing file is an error, never overwritten. The file appears with
  /// its tables complete, as a live run of this process.
  static base::Result<std::unique_ptr<RunFileWriter>> create(
      const std::filesystem::path& path, const RunFileWriterOptions& options = {});
  virtual ~RunFileWriter() = default;

  virtual void setInfo(const RunInfo& info) = 0;
  virtual void setRank(const RankInfo& rank) = 0;
  virtual void addTrack(const TrackInfo& track) = 0;
  virtual void setParameters(const ParametersMessage& parameters) = 0;
  virtual void addLayout(const BucketsMessage& layout) = 0;
  /// Adds a host, or replaces what is known of it.
  virtual void addHost(const HostInfo& host) = 0;
  /// Adds a calibration of the recording host.
  virtual void addClock(const base::ClockCalibration& clock) = 0;
  /// Adds a better clock of another host, from which on it converts all ticks of that host, those
  /// written before too: `clock` turns them into its own CLOCK_MONOTONIC, less the offset. Drift is
  /// part of ns_per_tick, as ClockOffsetEstimator::clock gives it. The recording host's own offset
  /// is always 0.
  virtual void addClock(int host, const base::ClockCalibration& clock,
                        const ClockOffset& offset) = 0;
  virtual void addEvent(std::int32_t track, const Event& event) = 0;
  virtual void addMetric(const MetricRow& metric) = 0;    ///< id is ignored
  virtual void addLog(const LogRow& row) = 0;             ///< id is ignored
  virtual void addProblem(const ProblemRow& problem) = 0; ///< id is ignored
  virtual void addFingerprint(int rank, const FingerprintMessage& fingerprint) = 0;
  virtual void addGradients(int rank, const GradientsMessage& gradients) = 0;
  virtual void addStepSums(const StepSumsRow& sums) = 0;  ///< id is ignored
  /// Adds a step of which nothing is kept but its span of kind kStep, on `track`, and its sums
  /// (KeptDetail::kSums). It is written with others of its rank (Note [Packed steps] in
  /// PackedSteps.h): by a commit at most about a second later, or by writeSummedSteps.
  virtual void addSummedStep(std::int32_t track, const Event& step, const StepSumsRow& sums) = 0;
  /// Writes the summed steps that wait to share a row: before rows of later steps, so that a reader
  /// who follows gets steps in their order.
  virtual void writeSummedSteps() = 0;

  /// How large the file is, with all that was written and is not committed yet.
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;

  /// Makes the rows visible to readers. A full disk is an Error; the file stays readable.
  /// After an error the writer keeps nothing more and returns that error again.
  virtual base::Status commit() = 0;

  /// Commits, checkpoints the WAL, leaves one file (journal_mode=DELETE) and closes it; the
  /// writer takes no more rows. When another program keeps the file open, the WAL stays beside
  /// it and the next reader tidies up. After an error of `commit` it still tries to write the
  /// last RunInfo, so that the file says how the run ended, and returns that first error.
  virtual base::Status finish() = 0;
};

/// Copies a run, live or not, into one consistent file (`lockstep copy`); `to` must not exist.
/// The copy of a live run is read as kRecorderDied, with a sentence in RunInfo::failure.
base::Status copyRunFile(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace lockstep::trace
