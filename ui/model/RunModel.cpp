#include "ui/model/RunModel.h"

#include <QTimer>
#include <algorithm>

#include "engine/base/Check.h"
#include "engine/base/InHalves.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "ui/model/BackgroundJob.h"
#include "ui/model/RunReader.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

constexpr qint64 kAnnounceEveryMs = 33;
constexpr qint64 kSliceMs = 4;
constexpr std::size_t kSpansBetweenClockLooks = 2048;
constexpr std::size_t kLatencySamples = 65'536;

// An overview counts a span as this; nothing for what lies within another or takes no time. Were
// children counted beside their parents, a bin could hold more time than passed in it; kExposed is
// the exception, and views take it off kBackward.
std::optional<Activity> activityOf(EventKind kind) {
  switch (kind) {
    case EventKind::kData:
      return Activity::kData;
    case EventKind::kForward:
      return Activity::kForward;
    case EventKind::kBackward:
      return Activity::kBackward;
    case EventKind::kOptimizer:
      return Activity::kOptimizer;
    case EventKind::kEvaluate:
    case EventKind::kCheckpoint:
      return Activity::kEvaluate;
    case EventKind::kWait:
      return Activity::kExposed;
    case EventKind::kCollective:
      return Activity::kCommunication;
    default:
      return std::nullopt;
  }
}

// The row of its lane that a span starts to look for room in. Children are recorded before the
// spans that contain them, so nesting is given by kind and not by what came first.
std::size_t firstRowOf(const trace::SpanRow& span) {
  constexpr std::size_t kDeviceRows = 15;
  const bool ofDevice = span.kind == EventKind::kParallelApply;
  return run::factsOf(span.kind).row +
         (ofDevice ? std::min<std::size_t>(span.detail, kDeviceRows) : 0);
}

}  // namespace

// A chunk of the reader that is being applied slice by slice.
struct RunModel::Intake {
  std::optional<RunReader::Chunk> chunk;
  std::size_t nextSpan = 0;
  bool scheduled = false;
};

RunModel::RunModel(QObject* parent)
    : QObject(parent), intake_(std::make_unique<Intake>()), announceTimer_(new QTimer(this)) {
  announceTimer_->setSingleShot(true);
  connect(announceTimer_, &QTimer::timeout, this, [this] {
    lastAnnounced_.start();
    emit changed();
  });
}

RunModel::RunModel(const std::filesystem::path& path, QObject* parent) : RunModel(parent) {
  path_ = path;
  reader_ = std::make_unique<RunReader>(path);
  connect(reader_.get(), &RunReader::chunksWaiting, this, &RunModel::drainReader,
          Qt::QueuedConnection);
  connect(reader_.get(), &RunReader::failed, this, &RunModel::failed, Qt::QueuedConnection);
  reader_->start();
}

RunModel::~RunModel() = default;

bool RunModel::isLive() const {
  return trace::isLive(info_.state);
}

void RunModel::applyUpdate(const trace::RunUpdate& update) {
  applySmallTables(update);
  applySpans(update.spans, 0, update.spans.size());
  announce();
}

analysis::RunData RunModel::snapshot() {
  std::vector<run::SharedRow> rows;
  for (Lane& lane : lanes_) {
    for (run::SpanStore& row : lane.rows) {
      if (!row.empty()) {
        rows.push_back(row.share());
      }
    }
  }
  std::vector<std::int32_t> trackIds;
  for (const Track& track : trackTable_) {
    trackIds.push_back(track.id);
  }
  analysis::RunData data = data_;
  data.spans = run::Spans(std::move(rows), std::move(trackIds));
  for (const trace::SpanRow& gap : data_.spans) {
    data.spans.push_back(gap);
  }
  return data;
}

// Note [A run arrives in slices]
//
// The file is read on a thread of its own and shown on the UI thread, and neither waits long for
// the other:
//
//    RunReader (own thread)              RunModel (UI thread)
//    poll ── up to 250,000 spans ─▶ queue of 2 ──▶ drainReader, at most 4 ms
//      ▲ waits while 4 chunks stand there            │ again, as the next event of the loop
//      └───────────── take() wakes it ◀──────────────┘
//
// A chunk is applied in pieces of 2048 spans, with a look at the clock after each, and may be left
// in the middle (Intake::nextSpan). Between two turns the event loop handles input and painting, so
// views may see a chunk half applied: they find what is there, and `changed` follows. Opening a run
// of 5 million spans so takes twenty chunks, and the window answers all the while.
//
// `changed` comes at most every 33 ms, however fast chunks come, since each makes views paint; only
// the last one of the opening (`loaded`) comes at once.
void RunModel::drainReader() {
  intake_->scheduled = false;
  QElapsedTimer clock;
  clock.start();
  bool any = false;
  while (clock.elapsed() < kSliceMs) {
    if (!intake_->chunk) {
      intake_->chunk = reader_->take();
      intake_->nextSpan = 0;
      if (!intake_->chunk) {
        break;
      }
      // The small tables come with the first slice of their chunk: its spans may be of tracks that
      // they name.
      applySmallTables(intake_->chunk->update);
    }
    any = true;
    const auto& rows = intake_->chunk->update.spans;
    const std::size_t last = std::min(rows.size(), intake_->nextSpan + kSpansBetweenClockLooks);
    applySpans(rows, intake_->nextSpan, last);
    intake_->nextSpan = last;
    if (last < rows.size()) {
      continue;
    }
    if (intake_->chunk->live && !rows.empty()) {
      // Samples for the measure of latency: the first of a large chunk say enough.
      std::vector<std::uint64_t> endTicks;
      endTicks.reserve(std::min(rows.size(), kLatencySamples));
      for (std::size_t i = 0; i < rows.size() && i < kLatencySamples; ++i) {
        endTicks.push_back(rows[i].startTicks + rows[i].durationTicks);
      }
      emit liveSpansApplied(endTicks);
    }
    const bool caughtUp = intake_->chunk->caughtUp;
    intake_->chunk.reset();
    if (caughtUp && !loaded_) {
      // Not through the timer of `announce`: who waits for `loaded` finds views that have heard of
      // all.
      loaded_ = true;
      if (!isLive()) {
        fitLanes();
      }
      lastAnnounced_.start();
      emit changed();
      emit loaded();
    }
  }
  if (any) {
    announce();
    // More may stand in the queue, of which no signal tells: `chunksWaiting` comes only when a
    // chunk enters an empty one. The turn that finds nothing is the last.
    if (!intake_->scheduled) {
      intake_->scheduled = true;
      onUiThread(QPointer<RunModel>(this), [this] { drainReader(); });
    }
  }
}

void RunModel::announce() {
  // New meetings have no row yet, and one that came late may push others to another: all is settled
  // before any view looks.
  meetings_.settle(groups_);
  if (announceTimer_->isActive()) {
    return;
  }
  const qint64 since = lastAnnounced_.isValid() ? lastAnnounced_.elapsed() : kAnnounceEveryMs;
  announceTimer_->start(static_cast<int>(std::max<qint64>(0, kAnnounceEveryMs - since)));
}

void RunModel::applySmallTables(const trace::RunUpdate& update) {
  bool news = false;
  const auto replace = [&news](auto& table, const auto& fresh) {
    if (fresh) {
      table = *fresh;
      news = true;
    }
  };
  replace(info_, update.info);
  replace(ranks_, update.ranks);
  replace(hosts_, update.hosts);
  data_.takeTables(update);
  news = news || update.parameters || update.layouts || update.clock || update.tracks;
  if (update.layouts) {
    // layoutAt and rebuildStep rely on the order of steps.
    std::ranges::stable_sort(data_.layouts, {}, &trace::BucketsMessage::step);
  }
  // The origin stays where the first answer put it, so that a better rate moves nothing far.
  if (update.clock && !originTicks_) {
    originTicks_ = update.clock->originTicks;
  }
  if (update.tracks) {
    applyTracks();
  }
  for (const trace::MetricRow& row : update.metrics) {
    counters_.add(row.name, row.rank, {row.step, row.ticks, row.value});
  }
  log_.insert(log_.end(), update.log.begin(), update.log.end());
  problems_.insert(problems_.end(), update.problems.begin(), update.problems.end());
  if (news) {
    emit infoChanged();
  }
}

void RunModel::applyTracks() {
  for (const trace::TrackInfo& track : data_.tracks) {
    if (trackOf_.contains(track.id)) {
      continue;
    }
    // SpanRecord::track has 16 bits.
    LOCKSTEP_CHECK(trackTable_.size() < 0xFFFF, "run file with {} tracks", data_.tracks.size());
    trackOf_[track.id] = trackTable_.size();
    trackTable_.push_back({track.id, track.rank, 0, {}, {}, {}});
    highestRank_ = std::max(highestRank_, track.rank);
  }
  // Spans may come before the update that names their track.
  const auto waiting = std::exchange(homeless_, {});
  applySpans(waiting, 0, waiting.size());
}

void RunModel::applySpans(const std::vector<trace::SpanRow>& rows, std::size_t first,
                          std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    addSpan(rows[i]);
  }
}

void RunModel::addSpan(const trace::SpanRow& row) {
  if (row.kind == EventKind::kLoss || row.kind == EventKind::kCounter) {
    return;  // they come as metrics
  }
  Track* const known = trackFor(row.track);
  if (known == nullptr) {
    homeless_.push_back(row);
    return;
  }
  Track& track = *known;
  const std::uint64_t endTicks = row.startTicks + row.durationTicks;
  if (!originTicks_) {
    originTicks_ = row.startTicks;
  }
  // lastTicks_ is 0 as long as there was no span.
  firstTicks_ = lastTicks_ == 0 ? row.startTicks : std::min(firstTicks_, row.startTicks);
  lastTicks_ = std::max(lastTicks_, endTicks);
  ++spanCount_;
  if (row.kind == EventKind::kGap) {
    addGap(track, row);
    return;
  }
  if (const auto activity = activityOf(row.kind)) {
    activity_.add(*activity, row.startTicks, row.durationTicks);
  }
  const LaneRole role = laneRoleOf(row.kind);
  track.roles |= 1u << static_cast<unsigned>(role);
  kinds_.set(std::min<std::size_t>(static_cast<std::size_t>(row.kind), kinds_.size() - 1));
  if (row.kind == EventKind::kCollective) {
    noteMember(trace::groupOf(row.detail), track.rank);
  }

  const run::SpanRecord record = run::recordOf(row, static_cast<std::uint16_t>(lastTrack_));
  Lane& lane = laneFor(track, role);
  // The first row, from that of its kind on, in which it overlaps nothing; where there is none, a
  // new one.
  for (std::size_t i = firstRowOf(row);; ++i) {
    while (i >= lane.rows.size()) {
      lane.rows.emplace_back();
    }
    if (lane.rows[i].insert(record)) {
      if (row.kind == EventKind::kCollective || row.kind == EventKind::kChecked) {
        meetings_.add(track.rank, i, record);
      }
      break;
    }
  }
}

/// Of a thousand ranks most rows are short, and half of the room of each may be empty.
void RunModel::fitLanes() {
  constexpr std::size_t kWorthTwoThreads = 256;
  base::inHalves(lanes_.size(), kWorthTwoThreads, [&](std::size_t from, std::size_t to) {
    for (std::size_t lane = from; lane < to; ++lane) {
      for (run::SpanStore& row : lanes_[lane].rows) {
        row.fit();
      }
    }
  });
}

void RunModel::addGap(Track& track, const trace::SpanRow& row) {
  auto at = std::ranges::upper_bound(track.gaps, row.startTicks, {}, &Gap::startTicks);
  const std::uint64_t before = at == track.gaps.begin() ? 0 : std::prev(at)->lostUpTo;
  at = track.gaps.insert(at, {row.startTicks, row.startTicks + row.durationTicks, before});
  // One that comes late is counted in all after it.
  std::for_each(at, track.gaps.end(), [&](Gap& gap) { gap.lostUpTo += row.value; });
  data_.spans.push_back(row);
  activity_.addLost(row.startTicks, row.durationTicks, row.value);
}

void RunModel::noteMember(std::uint8_t group, int rank) {
  std::vector<int>& members = groups_[group];
  const auto at = std::lower_bound(members.begin(), members.end(), rank);
  if (at == members.end() || *at != rank) {
    members.insert(at, rank);
  }
}

// The track that a span names; null while it is not known.
RunModel::Track* RunModel::trackFor(int id) {
  if (lastTrack_ >= trackTable_.size() || trackTable_[lastTrack_].id != id) {
    const auto found = trackOf_.find(id);
    if (found == trackOf_.end()) {
      return nullptr;
    }
    lastTrack_ = found->second;
  }
  return &trackTable_[lastTrack_];
}

Lane& RunModel::laneFor(Track& track, LaneRole role) {
  // Spans of a track come one after another; a binary search for the lane of each would be felt at
  // millions. Lanes are only ever added, so an index that was found is right as long as the number
  // of lanes is what it was then.
  const auto at = static_cast<std::size_t>(role);
  if (lanes_.empty() || track.lanesThen[at] != lanes_.size()) {
    const int id = laneId(track.rank, role);
    auto it = std::ranges::lower_bound(lanes_, id, {}, &Lane::id);
    if (it == lanes_.end() || it->id != id) {
      it = lanes_.insert(it, Lane{id, {}});
    }
    track.lanes[at] = static_cast<std::size_t>(it - lanes_.begin());
    track.lanesThen[at] = lanes_.size();
  }
  return lanes_[track.lanes[at]];
}

}  // namespace lockstep::ui
