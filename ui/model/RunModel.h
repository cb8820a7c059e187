#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/RunData.h"
#include "engine/base/Clock.h"
#include "engine/run/SpanStore.h"
#include "engine/trace/RunFile.h"
#include "ui/model/ActivityBins.h"
#include "ui/model/Counters.h"
#include "ui/model/Meetings.h"
#include "ui/model/Span.h"

class QTimer;

namespace lockstep::ui {

class RunReader;

/// One iteration of one rank, from its `step` span.
struct StepSpan {
  std::uint32_t step = 0;
  double startNs = 0;
  double endNs = 0;
};

/// A stretch in which a thread lost events, or several that lie close together.
struct GapSpan {
  double startNs = 0;
  double endNs = 0;
  std::uint64_t lost = 0;
  int track = 0;
};

/// A lane of the timeline: the spans of one rank and role, in rows that never overlap.
/// A row's spans lie sorted by time even when they arrive late.
struct Lane {
  int id = 0;
  std::vector<run::SpanStore> rows;
};

/// One run in memory: spans in columns, and the small tables whole.
///
/// A reader thread of its own polls the run file, every 50 ms while the run is live and once
/// when it has ended; updates are applied on the UI thread in slices of at most 4 ms. Times are
/// given in ns since the origin of the run; ticks are kept, so that a better clock calibration
/// moves everything at once. All members are [ui-thread].
class RunModel : public QObject {
  Q_OBJECT

 public:
  /// Makes an empty model that is fed by `applyUpdate`.
  explicit RunModel(QObject* parent = nullptr);
  /// Opens `path` on the reader thread; `loaded` follows, or `failed`.
  explicit RunModel(const std::filesystem::path& path, QObject* parent = nullptr);
  ~RunModel() override;

  /// Adds what is new, at once and in full. The reader calls it in slices.
  void applyUpdate(const trace::RunUpdate& update);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const trace::RunInfo& info() const { return info_; }
  /// What is here now as an analysis takes it, for another thread: it shares the spans.
  [[nodiscard]] analysis::RunData snapshot();
  /// True while the run's supervisor still writes.
  [[nodiscard]] bool isLive() const;
  /// True once everything that was in the file when it was opened has been applied.
  [[nodiscard]] bool isLoaded() const { return loaded_; }
  [[nodiscard]] const std::vector<trace::RankInfo>& ranks() const { return ranks_; }
  /// The hosts of the run by number; empty in files that know of none.
  [[nodiscard]] const std::vector<trace::HostState>& hosts() const { return hosts_; }
  /// The host that a rank is on, where the run has several; null where it has not.
  [[nodiscard]] const trace::HostState* hostOf(int rank) const;
  /// How far times of ranks on several hosts may be off against each other.
  [[nodiscard]] const trace::ClockDoubt& clockDoubt() const { return data_.doubt; }
  /// The larger of RunInfo::worldSize and of what the tables and spans show.
  [[nodiscard]] int rankCount() const;
  [[nodiscard]] const std::vector<trace::TrackInfo>& tracks() const { return data_.tracks; }
  [[nodiscard]] QString trackName(int track) const;
  [[nodiscard]] const std::vector<trace::ParametersMessage::Parameter>& parameters() const {
    return data_.parameters;
  }
  /// Bucket assignments in the order of their first step.
  [[nodiscard]] const std::vector<trace::BucketsMessage>& layouts() const { return data_.layouts; }
  /// The assignment that `step` used; null before the first one is known.
  [[nodiscard]] const trace::BucketsMessage* layoutAt(std::uint32_t step) const;
  /// The step that first used rebuilt buckets, or nothing.
  [[nodiscard]] std::optional<std::uint32_t> rebuildStep() const;

  /// Names of the metrics that have values: "loss", "test_accuracy", counters.
  [[nodiscard]] std::vector<std::string> metricNames() const { return counters_.names(); }
  /// The series of one metric on one rank, by time; empty when there is none.
  [[nodiscard]] const std::vector<MetricPoint>& metric(const std::string& name, int rank) const;
  /// The same with what is known of any stretch of them.
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const std::vector<trace::LogRow>& log() const { return log_; }
  [[nodiscard]] const std::vector<trace::ProblemRow>& problems() const { return problems_; }

  // --- time ---
  [[nodiscard]] double toNs(std::uint64_t ticks) const;
  /// The tick at or before a time.
  [[nodiscard]] std::uint64_t toTicks(double ns) const;
  [[nodiscard]] double nsPerTick() const { return data_.clock.nsPerTick; }
  /// From the earliest start to the latest end of all spans; empty without spans.
  [[nodiscard]] TimeRange extent() const;

  // --- spans ---
  [[nodiscard]] std::uint64_t spanCount() const { return spanCount_; }
  /// Lanes that hold spans, by rank, then role.
  [[nodiscard]] const std::vector<Lane>& lanes() const { return lanes_; }
  /// Null when the lane holds nothing.
  [[nodiscard]] const Lane* lane(int id) const;
  [[nodiscard]] Span spanAt(int lane, int row, std::size_t index) const;
  /// The span of a row that covers `ns`, or the nearest whose edge is within `slackNs`.
  [[nodiscard]] std::optional<Span> findSpan(int lane, int row, double ns,
                                             double slackNs = 0) const;
  /// Where a span stands now in its row; nothing when the model does not hold it.
  [[nodiscard]] std::optional<std::size_t> indexOf(const Span& span) const;
  /// The next (`direction` 1) or previous (-1) span of the same lane, in time, over its rows.
  [[nodiscard]] std::optional<Span> neighbour(const Span& span, int direction) const;
  /// The same, among spans of the same kind.
  [[nodiscard]] std::optional<Span> neighbourOfSameKind(const Span& span, int direction) const;
  /// The same collective (group, sequence number, step) on every rank that recorded it, by
  /// rank; of a check, the same check. Empty when `span` is neither.
  [[nodiscard]] std::vector<Span> sameCollective(const Span& span) const;
  /// All collectives and checks, followed across ranks.
  [[nodiscard]] const Meetings& meetings() const { return meetings_; }
  /// The meeting of a collective, or of a check, of its marks and of its link; null of others.
  [[nodiscard]] const Meeting* meetingOf(const Span& span) const;
  /// Who came last to a meeting of several ranks; none where ranks of different hosts came so close
  /// together that their clocks cannot tell. Says nothing of ranks that left no record.
  [[nodiscard]] std::optional<int> lastRankOf(const Meeting& meeting) const;
  /// The spans of a meeting, by rank.
  [[nodiscard]] std::vector<Span> spansOf(const Meeting& meeting) const;
  /// What ranks did over the whole run.
  [[nodiscard]] const ActivityBins& activity() const { return activity_; }
  /// The ranks that recorded any collective of a group, in order.
  [[nodiscard]] const std::vector<int>& membersOf(std::uint8_t group) const {
    return groups_[group];
  }
  /// Whether the run holds any span of this kind.
  [[nodiscard]] bool holds(trace::EventKind kind) const {
    return kinds_.test(std::min<std::size_t>(static_cast<std::size_t>(kind), kinds_.size() - 1));
  }
  /// Stretches in which threads of a rank that feed this lane lost events, by start within each
  /// thread. Those of a thread that lie at most `closeNs` apart come as one with their sum, so that
  /// the cost grows with the pixels that are asked for and not with the gaps; 0 joins none.
  [[nodiscard]] std::vector<GapSpan> gaps(int lane, TimeRange within, double closeNs = 0) const;

  // --- iterations ---
  /// Finished iterations of a rank, by time.
  [[nodiscard]] std::vector<StepSpan> steps(int rank, TimeRange within) const;
  [[nodiscard]] std::optional<StepSpan> step(int rank, std::uint32_t number) const;
  /// One iteration of all ranks: from the first that began it to the last that ended it.
  [[nodiscard]] std::optional<StepSpan> stepOfAll(std::uint32_t number) const;
  [[nodiscard]] std::optional<StepSpan> stepAt(int rank, double ns) const;
  [[nodiscard]] std::optional<StepSpan> lastStep(int rank) const;
  /// The iteration that the run began with on any rank: not 0 when it was resumed.
  [[nodiscard]] std::optional<std::uint32_t> firstStep() const;
  [[nodiscard]] std::size_t stepCount(int rank) const;

 signals:
  /// Something is new; at most one every 33 ms.
  void changed();
  /// Run info, ranks, parameters, layouts or clock are new.
  void infoChanged();
  /// Everything the file held when it was opened is here.
  void loaded();
  /// The file could not be opened or read further; one sentence.
  void failed(const QString& sentence);
  /// End ticks of spans that arrived live, to measure how late they reach the screen.
  void liveSpansApplied(const std::vector<std::uint64_t>& endTicks);

 private:
  struct Intake;
  struct Gap {
    std::uint64_t startTicks = 0;
    std::uint64_t endTicks = 0;
    std::uint64_t lostUpTo = 0;  // by the track, with this one
  };
  struct Track {
    int id = 0;
    int rank = 0;
    unsigned roles = 0;                           // bit set of the LaneRoles its spans have
    std::vector<Gap> gaps;                        // by start
    std::array<std::size_t, kLaneRoles> lanes{};  // where its spans go, among so many lanes:
    std::array<std::size_t, kLaneRoles> lanesThen{};
  };

  void applySmallTables(const trace::RunUpdate& update);
  void applyTracks();
  void applySpans(const std::vector<trace::SpanRow>& rows, std::size_t first, std::size_t last);
  void addSpan(const trace::SpanRow& row);
  void fitLanes();
  void addGap(Track& track, const trace::SpanRow& row);
  void noteMember(std::uint8_t group, int rank);
  Track* trackFor(int id);
  Lane& laneFor(Track& track, LaneRole role);
  [[nodiscard]] Span spanOf(int lane, int row, const run::SpanRecord& record) const;
  [[nodiscard]] const run::SpanStore* rowOf(int lane, int row) const;
  [[nodiscard]] std::optional<Span> neighbourIf(const Span& span, int direction,
                                                std::optional<trace::EventKind> kind) const;
  void drainReader();
  void announce();

  std::filesystem::path path_;
  trace::RunInfo info_;
  std::vector<trace::RankInfo> ranks_;
  std::vector<trace::HostState> hosts_;
  analysis::RunData data_;                // its tables; of spans only the gaps
  std::vector<Track> trackTable_;         // SpanRecord::track is an index into it
  std::map<int, std::size_t> trackOf_;    // TrackInfo::id to that index
  std::size_t lastTrack_ = 0;             // of the latest span: the next is likely of it too
  std::vector<trace::SpanRow> homeless_;  // spans whose track is not known yet
  Counters counters_;
  std::vector<trace::LogRow> log_;
  std::vector<trace::ProblemRow> problems_;

  std::optional<std::uint64_t> originTicks_;
  std::uint64_t firstTicks_ = 0;
  std::uint64_t lastTicks_ = 0;

  std::vector<Lane> lanes_;
  std::array<std::vector<int>, 256> groups_;  // ranks of each, sorted
  Meetings meetings_;
  ActivityBins activity_;
  std::bitset<128> kinds_;  // that any span has
  std::uint64_t spanCount_ = 0;
  int highestRank_ = -1;

  std::unique_ptr<RunReader> reader_;
  std::unique_ptr<Intake> intake_;
  QTimer* announceTimer_;
  QElapsedTimer lastAnnounced_;
  bool loaded_ = false;
};

}  // namespace lockstep::ui
