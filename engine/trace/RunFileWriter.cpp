#include <unistd.h>

#include <array>
#include <map>
#include <thread>
#include <utility>

#include "engine/base/Try.h"
#include "engine/trace/Event.h"
#include "engine/trace/HostFacts.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/RunFileAccess.h"
#include "engine/trace/RunFileHosts.h"
#include "engine/trace/RunFilePacked.h"
#include "engine/trace/RunFileSamples.h"
#include "engine/trace/RunFileSchema.h"
#include "engine/trace/RunFileSpans.h"
#include "engine/trace/RunFileSums.h"
#include "engine/trace/RunFileTables.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {
namespace {

using schema::Part;
using sqlite::Statement;

constexpr std::uint64_t kPageBytes = 4096;  // SQLite's own choice

// Note [How a run file ends]
//
// While it is written, new rows lie in the WAL, and readers see what was committed. finish() makes
// one plain file of both, which can be copied, mailed or opened on a read-only disk. What may be in
// the way:
//
//   a reader is connected     tried again for `finishPatience`; then the WAL stays, and the next
//                             reader that may write tidies up (tidyUp)
//   the disk is full          all rows since the last commit are given up, and only RunInfo is
//                             written, so that the run does not look alive for ever
//   the process was killed    the file looks alive; readers see that the supervisor is gone
//
// Prepared statements go first: with one left SQLite would not really close the file.
class Writer final : public RunFileWriter {
 public:
  Writer(std::unique_ptr<sqlite::Database> database, RunFileWriterOptions options)
      : options_(options),
        database_(std::move(database)),
        statements_(std::make_unique<Statements>(*database_)) {}

  // A writer that was not finished leaves a live-looking file, as a crash would.
  ~Writer() override {
    statements_.reset();
    database_.reset();
  }

  void setInfo(const RunInfo& info) override {
    info_ = info;
    if (info_.supervisorPid == 0) {
      info_.supervisorPid = getpid();
      info_.supervisorStart = processStart(getpid());
    }
    infoKnown_ = true;
    if (begin()) {
      tables::writeInfo(*database_, info_);
      touch(Part::kInfo);
    }
  }

  void setRank(const RankInfo& rank) override {
    if (begin()) {
      tables::writeRank(*database_, rank);
      touch(Part::kRanks);
    }
  }

  void addTrack(const TrackInfo& track) override {
    if (begin()) {
      Statement(*database_, "INSERT OR REPLACE INTO tracks VALUES(?, ?, ?)")
          .runWith(track.id, track.rank, std::string_view(track.name));
      touch(Part::kTracks);
    }
  }

  void setParameters(const ParametersMessage& parameters) override {
    if (begin()) {
      tables::writeParameters(*database_, parameters.parameters);
      touch(Part::kParameters);
    }
  }

  void addLayout(const BucketsMessage& layout) override {
    if (begin()) {
      tables::writeLayout(*database_, layout);
      touch(Part::kLayouts);
    }
  }

  void addHost(const HostInfo& host) override {
    if (begin()) {
      tables::writeHost(*database_, host);
      touch(Part::kHosts);
    }
  }

  void addClock(const base::ClockCalibration& clock) override {
    if (begin()) {
      tables::writeClock(*database_, kRecordingHost, HostClock{clock, {}});
      touch(Part::kClock);
    }
  }

  void addClock(int host, const base::ClockCalibration& clock, const ClockOffset& offset) override {
    LOCKSTEP_CHECK(host != kRecordingHost, "an offset of the recording host to itself");
    if (begin()) {
      tables::writeClock(*database_, host, HostClock{clock, offset});
      touch(Part::kClock);
    }
  }

  void addEvent(std::int32_t track, const Event& event) override {
    if (!begin()) {
      return;
    }
    statements_->spans.add(track, event);
    if (event.kind == static_cast<std::uint64_t>(EventKind::kStep)) {
      noteStep(event.step);
    }
  }

  void addMetric(const MetricRow& metric) override {
    if (begin()) {
      statements_->metric.runWith(metric.rank, std::string_view(metric.name), metric.step,
                                  metric.ticks, metric.value, metric.host);
      lastMetrics_[{metric.rank, metric.name}] = {metric.step, metric.value};
    }
  }

  void addLog(const LogRow& row) override {
    if (begin()) {
      statements_->log.runWith(row.rank, row.ticks, std::string_view(row.text));
    }
  }

  void addProblem(const ProblemRow& problem) override {
    if (begin()) {
      statements_->problem.runWith(std::string_view(problem.severity), problem.rank, problem.step,
                                   std::string_view(problem.text));
    }
  }

  void addFingerprint(int rank, const FingerprintMessage& fingerprint) override {
    if (begin()) {
      statements_->samples.write(rank, fingerprint);
    }
  }

  void addGradients(int rank, const GradientsMessage& gradients) override {
    if (begin()) {
      statements_->samples.write(rank, gradients);
    }
  }

  void addStepSums(const StepSumsRow& sums) override {
    if (begin()) {
      statements_->sums.write(sums);
    }
  }

  void addSummedStep(std::int32_t track, const Event& step, const StepSumsRow& sums) override {
    if (begin()) {
      statements_->packed.add(track, step, sums);
      noteStep(step.step);
    }
  }

  void writeSummedSteps() override {
    if (!statements_->packed.empty() && begin()) {
      statements_->packed.writeAll();
    }
  }

  [[nodiscard]] std::uint64_t bytes() const override {
    if (database_ == nullptr || !database_->ok()) {
      return 0;
    }
    Statement pages(*database_, "PRAGMA page_count");
    return pages.row() ? static_cast<std::uint64_t>(pages.integer(0)) * kPageBytes : 0;
  }

  base::Status commit() override {
    if (database_ == nullptr) {
      return finishStatus_;
    }
    // Not where a full disk has ended the file: there its end is all that may still be written.
    if (finishStatus_.ok() && statements_->packed.isDue()) {
      writeSummedSteps();
    }
    statements_->spans.writeAll();
    if (inTransaction_ && database_->ok()) {
      // In the transaction of the change itself: a reader that sees the one sees the other.
      for (std::size_t part = 0; part < touched_.size(); ++part) {
        if (std::exchange(touched_[part], false)) {
          statements_->touch.runWith(static_cast<std::int32_t>(part));
        }
      }
      // Once a commit and not with each row: run lists want the last value alone.
      for (const auto& [key, last] : lastMetrics_) {
        statements_->lastMetric.runWith(key.first, std::string_view(key.second), last.first,
                                        last.second);
      }
      lastMetrics_.clear();
      if (std::exchange(lastStepChanged_, false)) {
        statements_->meta.runWith(std::string_view("last_step"), lastStep_);
      }
      database_->execute("COMMIT");
      inTransaction_ = false;
    }
    return database_->status();
  }

  base::Status finish() override {
    if (database_ == nullptr) {
      return finishStatus_;
    }
    writeSummedSteps();
    finishStatus_ = commit();
    if (!finishStatus_.ok()) {
      writeEndOfFullFile();
    }
    statements_.reset();
    leaveWal();
    database_.reset();
    return finishStatus_;
  }

 private:
  struct Statements {
    explicit Statements(sqlite::Database& database)
        : spans(database),
          metric(database,
                 "INSERT INTO metrics(rank, name, step, ticks, value, host) "
                 "VALUES(?, ?, ?, ?, ?, ?)"),
          lastMetric(database, "INSERT OR REPLACE INTO last_metrics VALUES(?, ?, ?, ?)"),
          log(database, "INSERT INTO logs(rank, ticks, text) VALUES(?, ?, ?)"),
          problem(database, "INSERT INTO problems(severity, rank, step, text) VALUES(?, ?, ?, ?)"),
          touch(database, "UPDATE changes SET revision = revision + 1 WHERE part = ?"),
          meta(database, "INSERT OR REPLACE INTO meta VALUES(?, ?)"),
          samples(database),
          sums(database),
          packed(database) {}
    SpanWriter spans;
    Statement metric, lastMetric, log, problem, touch, meta;
    SampleWriter samples;
    StepSumsWriter sums;
    PackedStepsWriter packed;
  };

  /// So that a run list need not search the spans for the last step.
  void noteStep(std::uint32_t step) {
    if (step > lastStep_) {
      lastStep_ = step;
      lastStepChanged_ = true;
    }
  }

  /// Opens a transaction when none is open; false when nothing can be written any more.
  bool begin() {
    LOCKSTEP_CHECK(database_ != nullptr, "a row for a run file that is finished");
    if (!inTransaction_ && database_->ok()) {
      database_->execute("BEGIN");
      inTransaction_ = true;
    }
    return database_->ok();
  }

  /// Replaces the few rows of `meta` where there is no room for more: over what the failed
  /// transaction left in the WAL or, when that is too little, where a checkpoint frees the WAL.
  void writeEndOfFullFile() {
    database_->recover();
    for (const bool checkpoint : {false, true}) {
      if (checkpoint) {
        database_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
        database_->recover();
      }
      inTransaction_ = false;
      if (infoKnown_) {
        setInfo(info_);
      }
      if (commit().ok()) {
        return;
      }
      database_->recover();
    }
  }

  /// Moves the WAL into the file and removes it, once no reader is connected.
  void leaveWal() {
    const auto deadline = std::chrono::steady_clock::now() + options_.finishPatience;
    database_->setPatience(0);  // SQLite waits for locks at a checkpoint, not at the switch
    while (true) {
      database_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
      database_->execute("PRAGMA journal_mode=DELETE");
      if (!database_->busy() || std::chrono::steady_clock::now() >= deadline) {
        return;
      }
      database_->recover();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  void touch(Part part) { touched_[static_cast<std::size_t>(part)] = true; }

  RunFileWriterOptions options_;
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<Statements> statements_;
  bool inTransaction_ = false;
  std::array<bool, schema::kParts> touched_{};
  std::map<std::pair<int, std::string>, std::pair<std::uint32_t, double>> lastMetrics_;
  std::uint32_t lastStep_ = 0;
  bool lastStepChanged_ = false;
  RunInfo info_;
  bool infoKnown_ = false;
  base::Status finishStatus_;
};

/// Makes the tables in one file without a WAL, so that the renamed file is complete.
base::Status buildEmptyRun(const std::filesystem::path& path) {
  auto opened = LOCKSTEP_TRY(sqlite::Database::open(path, sqlite::OpenMode::kReadWrite));
  sqlite::Database& database = *opened;
  // Nobody misses a draft after a power cut.
  database.execute("PRAGMA synchronous=OFF; BEGIN");
  schema::create(database);
  RunInfo info;
  info.supervisorPid = getpid();
  info.supervisorStart = processStart(getpid());
  info.hostName = hostName();
  tables::writeInfo(database, info);
  database.execute("COMMIT");
  return database.status();
}

}  // namespace

base::Result<std::unique_ptr<RunFileWriter>> RunFileWriter::create(
    const std::filesystem::path& path, const RunFileWriterOptions& options) {
  LOCKSTEP_TRY(createAtomically(path, buildEmptyRun));
  auto opened = LOCKSTEP_TRY(sqlite::Database::open(path, sqlite::OpenMode::kReadWrite));
  sqlite::Database& database = *opened;
  database.execute("PRAGMA journal_mode=WAL");
  // With a WAL, NORMAL syncs at checkpoints only: a power cut loses the newest rows, a crash
  // of the recorder none.
  database.execute("PRAGMA synchronous=NORMAL");
  if (options.maxBytes != 0) {
    database.execute(
        fmt::format("PRAGMA max_page_count={}", (options.maxBytes + kPageBytes - 1) / kPageBytes)
            .c_str());
  }
  auto writer = std::make_unique<Writer>(std::move(opened), options);
  LOCKSTEP_TRY(writer->commit());
  return std::unique_ptr<RunFileWriter>(std::move(writer));
}

}  // namespace lockstep::trace
