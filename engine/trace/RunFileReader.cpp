#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <utility>

#include "engine/base/Try.h"
#include "engine/trace/HostAxis.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/RunFileAccess.h"
#include "engine/trace/RunFileHosts.h"
#include "engine/trace/RunFilePacked.h"
#include "engine/trace/RunFileSamples.h"
#include "engine/trace/RunFileSchema.h"
#include "engine/trace/RunFileSums.h"
#include "engine/trace/RunFileTables.h"
#include "engine/trace/SpanReader.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {
namespace {

using schema::Part;
using sqlite::Database;
using sqlite::Statement;

// Note [Following a run]
//
// Two kinds of tables are read in two ways, in one read transaction, so that what one poll returns
// fits together:
//
//   rows that are only added    spans, metrics, logs, problems, samples, sums: `id > last id`
//   small tables that change    info, ranks, tracks, parameters, layouts, clocks, hosts: read whole
//                               when their number in `changes` has changed
//
// Between polls no connection is open: one that is keeps a shared lock, and the writer's finish()
// cannot turn the WAL into a plain file until it is gone. While there is more to read (a poll
// returned as many spans as it may) the connection stays, since the next poll follows at once.
//
// A run ends in one of two ways. Its file says so, in the same commit as its last rows; or its
// supervisor is gone while the file says that it lives. The latter is asked before the rows are
// read: the process cannot have written anything after it was found gone, so nothing is missed.
class Reader final : public RunFileReader {
 public:
  Reader(std::filesystem::path path, RunFileReaderOptions options)
      : path_(std::move(path)), options_(std::move(options)) {
    revisions_.fill(-1);
  }

  [[nodiscard]] const std::filesystem::path& path() const override { return path_; }

  /// Opens once to see that it can be read, and tidies up after a dead recorder.
  base::Status prepare() {
    LOCKSTEP_TRY(connect());
    const base::Result<RunSummary> read = readSummary(*database_, path_);
    info_ = tables::readInfo(*database_);  // its state as it stands there: poll() tells of an end
    database_.reset();
    if (!read.ok()) {
      return read.error();
    }
    if (supervisorGone(info_)) {
      tidyUp(path_);
    }
    return {};
  }

  base::Result<RunUpdate> poll(std::size_t maxSpans) override {
    // Asked before reading: what a supervisor that is gone now ever wrote is read below.
    const bool gone = !ended_ && isLive(info_.state) && supervisorGone(info_);
    LOCKSTEP_TRY(connect());
    RunUpdate update;
    database_->execute("BEGIN");
    readParts(update);
    std::vector<StepSumsRow> packed;
    readPackedSteps(maxSpans, update.spans, packed);
    const base::Status readSpans = readPlacedSpans(maxSpans, update.spans);
    readMetrics(update);
    readLog(update);
    readProblems(update);
    samples_.read(*database_, update);
    sums_.read(*database_, axis_, std::move(packed), update.sums);
    database_->execute("COMMIT");
    const base::Status read = readSpans.ok() ? database_->status() : readSpans;
    const bool drained = update.spans.size() < maxSpans;
    if (drained || !read.ok()) {
      // An open connection keeps a lock that the writer's `finish` waits for.
      database_.reset();
      spans_.rest();
    }
    if (!read.ok()) {
      return read.error();
    }
    noticeEnd(update, gone);
    if (ended_ && drained) {
      tellWhatWaits(update);
    }
    if (untidy_ && drained) {
      tidyUp(path_);
      untidy_ = false;
    }
    return update;
  }

 private:
  base::Status connect() {
    if (database_ != nullptr) {
      return {};
    }
    database_ = LOCKSTEP_TRY(openSame());
    return {};
  }

  /// A new connection, to the file that the first one was made to.
  base::Result<std::unique_ptr<Database>> openSame() {
    auto opened = openForReading(path_, options_);
    struct stat facts {};
    if (opened.ok() && stat(path_.c_str(), &facts) == 0) {
      const auto identity = std::make_pair(facts.st_dev, facts.st_ino);
      // The ids that were read belong to the first file; in another one they would skip rows.
      if (identity_.has_value() && *identity_ != identity) {
        return base::Error{base::ExitCode::kBadInput,
                           "another file took the place of this run file; open it anew",
                           path_.string()};
      }
      identity_ = identity;
    }
    return opened;
  }

  void readParts(RunUpdate& update) {
    std::array<std::int64_t, schema::kParts> revisions = revisions_;
    Statement select(*database_, "SELECT part, revision FROM changes");
    while (select.row()) {
      const std::int64_t part = select.integer(0);
      if (part >= 0 && part < schema::kParts) {
        revisions[static_cast<std::size_t>(part)] = select.integer(1);
      }
    }
    const auto changed = [&](Part part) {
      const auto at = static_cast<std::size_t>(part);
      return revisions[at] != revisions_[at];
    };
    if (changed(Part::kInfo)) {
      update.info = tables::readInfo(*database_);
    }
    if (changed(Part::kRanks)) {
      update.ranks = tables::readRanks(*database_);
      // Before the spans below are placed: ranks and tracks say which host's ticks they are in.
      axis_.setRanks(*update.ranks);
    }
    if (changed(Part::kTracks)) {
      update.tracks = tables::readTracks(*database_);
      axis_.setTracks(*update.tracks);
    }
    if (changed(Part::kParameters)) {
      update.parameters = tables::readParameters(*database_);
    }
    if (changed(Part::kLayouts)) {
      update.layouts = tables::readLayouts(*database_);
    }
    if (changed(Part::kClock)) {
      const std::map<int, HostClock> clocks = tables::readClocks(*database_);
      if (const auto clock = clocks.find(kRecordingHost); clock != clocks.end()) {
        update.clock = clock->second.calibration;
      }
      axis_.setClocks(clocks);
    }
    if (changed(Part::kClock) || changed(Part::kHosts)) {
      update.hosts = tables::readHosts(*database_);
    }
    if (database_->ok()) {
      // Else they are read again: what was taken may be half of a table.
      revisions_ = revisions;
    }
  }

  /// Steps that share a row come before the spans of the same poll, which are of later ones.
  void readPackedSteps(std::size_t most, std::vector<SpanRow>& rows,
                       std::vector<StepSumsRow>& sums) {
    axis_.release(rows, most);
    while (rows.size() < most) {
      const std::size_t before = rows.size();
      packed_.read(*database_, most, rows, sums);
      const std::size_t read = rows.size();
      for (std::size_t i = before; i < read; ++i) {
        rows[i].id = spans_.lastId() + ++packedSteps_;
      }
      axis_.place(rows, before);
      if (read == before) {
        return;
      }
    }
  }

  /// Fewer than `most` only when there are no more that can be placed.
  base::Status readPlacedSpans(std::size_t most, std::vector<SpanRow>& rows) {
    while (true) {
      const std::size_t before = rows.size();
      LOCKSTEP_TRY(spans_.read(*database_, most, rows));
      const std::size_t read = rows.size();
      for (std::size_t i = before; i < read && packedSteps_ > 0; ++i) {
        rows[i].id += packedSteps_;
      }
      axis_.place(rows, before);
      if (rows.size() == read) {  // none has to wait
        return {};
      }
    }
  }

  void readMetrics(RunUpdate& update) {
    axis_.release(update.metrics);
    const std::size_t first = update.metrics.size();
    Statement select(*database_,
                     schema::hasHosts(*database_)
                         ? "SELECT id, rank, name, step, ticks, value, host FROM metrics "
                           "WHERE id > ? ORDER BY id"
                         : "SELECT id, rank, name, step, ticks, value, 0 FROM metrics "
                           "WHERE id > ? ORDER BY id");
    select.bind(1, lastMetric_);
    while (select.row()) {
      MetricRow& row = update.metrics.emplace_back();
      row.id = lastMetric_ = select.integer(0);
      row.rank = static_cast<int>(select.integer(1));
      row.name = select.text(2);
      row.step = static_cast<std::uint32_t>(select.integer(3));
      row.ticks = static_cast<std::uint64_t>(select.integer(4));
      row.value = select.numberOrNan(5);
      row.host = static_cast<int>(select.integer(6));
    }
    axis_.place(update.metrics, first);
  }

  void readLog(RunUpdate& update) {
    Statement select(*database_, "SELECT id, rank, ticks, text FROM logs WHERE id > ? ORDER BY id");
    select.bind(1, lastLog_);
    while (select.row()) {
      LogRow& row = update.log.emplace_back();
      row.id = lastLog_ = select.integer(0);
      row.rank = static_cast<int>(select.integer(1));
      row.ticks = static_cast<std::uint64_t>(select.integer(2));
      row.text = select.text(3);
    }
  }

  void readProblems(RunUpdate& update) {
    Statement select(*database_,
                     "SELECT id, severity, rank, step, text FROM problems WHERE id > ? "
                     "ORDER BY id");
    select.bind(1, lastProblem_);
    while (select.row()) {
      ProblemRow& row = update.problems.emplace_back();
      row.id = lastProblem_ = select.integer(0);
      row.severity = select.text(1);
      row.rank = static_cast<int>(select.integer(2));
      row.step = static_cast<std::uint32_t>(select.integer(3));
      row.text = select.text(4);
    }
  }

  /// Keeps the state in mind, and turns a live one into kRecorderDied once nobody can end it.
  void noticeEnd(RunUpdate& update, bool gone) {
    if (update.info.has_value()) {
      // The file may have got an end between the question and the reading: then it counts.
      info_ = *update.info;
      ended_ = !isLive(info_.state);
    }
    if (gone && !ended_) {
      noteGone(info_);
      update.info = info_;
      ended_ = true;
      untidy_ = true;
    }
  }

  /// Rows that nothing can place in time any more are not shown; to say nothing of them would be
  /// worse.
  void tellWhatWaits(RunUpdate& update) {
    for (const auto& [host, rows] : axis_.waiting()) {
      update.problems.push_back(
          {0, "warning", -1, 0,
           fmt::format("the clock of host {} was never compared with the recording host's: {} rows "
                       "of its ranks have no place in time and are not shown",
                       host, rows)});
    }
    axis_.dropWaiting();
  }

  std::filesystem::path path_;
  RunFileReaderOptions options_;
  std::unique_ptr<Database> database_;
  std::optional<std::pair<dev_t, ino_t>> identity_;
  std::array<std::int64_t, schema::kParts> revisions_{};
  std::int64_t lastMetric_ = 0;
  std::int64_t lastLog_ = 0;
  std::int64_t lastProblem_ = 0;
  HostAxis axis_;
  SpanReader spans_{[this] { return openSame(); }};
  SampleReader samples_;
  StepSumsReader sums_;
  PackedStepsReader packed_;
  std::int64_t packedSteps_ = 0;  // handed out: what ids of spans are above those of the file
  RunInfo info_;
  bool ended_ = false;   // an end was handed out
  bool untidy_ = false;  // the recorder died and its WAL still lies beside the file
};

}  // namespace

bool RunUpdate::empty() const {
  return !info && !ranks && !tracks && !parameters && !layouts && !clock && !hosts &&
         spans.empty() && metrics.empty() && log.empty() && problems.empty() &&
         fingerprints.empty() && sketches.empty() && gradients.empty() && sums.empty();
}

base::Result<std::unique_ptr<RunFileReader>> RunFileReader::open(
    const std::filesystem::path& path, const RunFileReaderOptions& options) {
  auto reader = std::make_unique<Reader>(path, options);
  LOCKSTEP_TRY(reader->prepare());
  return std::unique_ptr<RunFileReader>(std::move(reader));
}

}  // namespace lockstep::trace
