#include "ui/views/timeline/TimelineLayout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ui/model/ViewState.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

// By what begins in a row: engine/run/KindFacts.cpp. Marks need less than bars with a text in them.
double usualHeight(LaneRole role, int row) {
  switch (role) {
    case LaneRole::kPhases:
      return row == 1 ? 22 : 16;
    case LaneRole::kGradients:
      return row == 0 ? 14 : row == 1 ? 11 : 16;
    case LaneRole::kHook:
      return 16;
    case LaneRole::kCommunication:
      return row == 0 ? 8 : row < 4 ? 18 : 14;
  }
  return 16;
}

// The row of a lane that is read first.
bool isFirstRead(LaneRole role, int row) {
  return role == LaneRole::kPhases          ? row < 2
         : role == LaneRole::kCommunication ? row == 1
                                            : role == LaneRole::kHook && row == 0;
}

bool isNarrow(Density density) {
  return density >= Density::kSnug;
}

double rowHeight(LaneRole role, int row, Density density) {
  constexpr double kDenseRow = 9;
  constexpr double kTightRow = 6;
  constexpr double kThinRow = 5;
  constexpr double kMarks = 8;  // below it a bucket's mark is no triangle
  const double usual = usualHeight(role, row);
  if (!isNarrow(density)) {
    return usual;
  }
  if (density == Density::kSnug) {
    return std::min(usual, kWordsFrom);
  }
  const bool thin = density == Density::kThin;
  if (isFirstRead(role, row)) {
    return thin && role != LaneRole::kPhases ? kMarks : kWordsFrom;
  }
  if (role == LaneRole::kGradients && row == 1) {
    return density == Density::kDense ? usual : kMarks;
  }
  return std::min(usual, thin ? kThinRow : density == Density::kTight ? kTightRow : kDenseRow);
}

double rowGap(Density density) {
  return isNarrow(density) ? 1 : kRowGap;
}

double lanePadding(Density density) {
  return isNarrow(density) ? 2 : kLanePadding;
}

double worldRow(Density density) {
  return isNarrow(density) ? kWordsFrom : kWorldRow;
}

constexpr double kCollapsedRow = 12;

// Phases, and all that is under way at any time: it lies in one strip.
bool shownCollapsed(LaneRole role, int row) {
  return role == LaneRole::kPhases ? row == 1 : role == LaneRole::kCommunication && row >= 1;
}

// The one of boxes below each other that a height lies in; null: none.
template <typename Box>
const Box* boxAt(const std::vector<Box>& boxes, double y) {
  const auto after = std::ranges::upper_bound(boxes, y, {}, &Box::top);
  return after != boxes.begin() && y < std::prev(after)->top + std::prev(after)->height
             ? &*std::prev(after)
             : nullptr;
}

// Those of `chosen` that the run has.
std::vector<int> knownOf(const RunModel& model, std::vector<int> chosen) {
  std::erase_if(chosen, [&](int rank) { return rank < 0 || rank >= model.rankCount(); });
  return chosen;
}

// The same; all ranks of the run where none are chosen.
std::vector<int> ranksOf(const RunModel& model, const std::vector<int>& chosen) {
  std::vector<int> ranks = knownOf(model, chosen);
  if (ranks.empty()) {
    ranks.resize(static_cast<std::size_t>(model.rankCount()));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  return ranks;
}

bool hasSpans(const RunModel& model, const run::SpanStore& store,
              const std::optional<TimeRange>& within) {
  if (store.empty() || !within) {
    return !store.empty();
  }
  const std::size_t first = store.firstEndingAfter(model.toTicks(within->startNs));
  return first < store.size() && store.startAt(first) <= model.toTicks(within->endNs);
}

// Groups of start-up, as that which checks that all ranks have the same model, never meet again.
bool metInStartUpAlone(const RunModel& model, const MeetingTable& table) {
  const auto first = model.firstStep();
  const auto step = first ? model.stepOfAll(*first) : std::nullopt;
  return step && table.firstEndingAfter(model.toTicks(step->startNs)) >= table.all().size();
}

// How many rows the meetings of a stretch need. Of so many that they are folded into each other it
// is not worth a look at each: as many as the run needs.
int rowsWithin(const RunModel& model, const MeetingTable& table,
               const std::optional<TimeRange>& within) {
  constexpr std::size_t kLookedAt = 20'000;
  if (!within) {
    return table.rows();
  }
  const std::vector<Meeting>& all = table.all();
  const std::uint64_t end = model.toTicks(within->endNs);
  const std::size_t first = table.firstEndingAfter(model.toTicks(within->startNs));
  int rows = 0;
  std::size_t past = 0;
  for (std::size_t i = first; i < all.size() && past <= MeetingTable::kReorderedAtMost; ++i) {
    if (i - first > kLookedAt || rows == table.rows()) {
      return table.rows();
    }
    if (all[i].firstStart > end) {
      ++past;
    } else {
      rows = std::max(rows, all[i].row + 1);
    }
  }
  return rows;
}

}  // namespace

// Note [Lanes of a timeline]
//
//   y = 0   World             a row for each group, and more where collectives overlap
//           Forecast          where somebody asked What if: rows of buckets
//           All 64 ranks      of more than kFewRanks: a line each, or one for several
//           Rank 0            header; a click folds the rank to phases and one strip of all
//                             communication
//             phases          0 iterations, 1 phases, 2 what happens in them, 4 faults, core waits
//             gradients       0 ready, 1 buckets ready, launched, 2 copies in, 3 waits, copies out
//             hook            encode, communicate, decode
//             communication   0 queued, 1 to 3 under way, 4 and on: checks, links, kernels
//             counters        a plot each, in the order that was chosen
//           Rank 1
//             …
//
// The model puts each span into the first row, from that of its kind on, in which it overlaps
// nothing (RunModel::addSpan). Rows and lanes without spans, of the run or of a stretch of it
// (Options::within), take no room: a lane appears with its first span, and all y below it move
// then. Nothing here knows of scrolling or of what is in sight: TimelineSight does.
//
// A run of many ranks shows the lanes of a few that somebody chose or pinned. As long as more are
// chosen than that, they are the ones that have lines.
TimelineLayout::TimelineLayout(const RunModel& model, const std::set<int>& collapsed,
                               const Options& options) {
  placeWorld(model, options);
  placeForecast(options);
  placeLines(model, options);
  boxOf_.assign(static_cast<std::size_t>(model.rankCount()), -1);
  std::vector<int> withLanes = knownOf(model, options.pinned);
  const std::vector<int> shown = ranksOf(model, options.shown);
  if (lines_.empty() || (shown.size() <= kFewRanks && !options.lined)) {
    withLanes.insert(withLanes.end(), shown.begin(), shown.end());
  }
  for (const int rank : withLanes) {
    if (boxOf(rank) == nullptr) {
      placeRank(model, options, rank, collapsed.contains(rank));
    }
  }
}

void TimelineLayout::placeLines(const RunModel& model, const Options& options) {
  const bool few = static_cast<std::size_t>(model.rankCount()) <= kFewRanks;
  if (options.listed || model.rankCount() == 0 || (few && !options.lined)) {
    return;
  }
  const std::vector<int> shown = ranksOf(model, options.shown);
  const bool ofShown = options.lined || shown.size() > kFewRanks;
  lines_ = RankLines(ofShown ? shown : ranksOf(model, {}), options.unlike, height_,
                     options.linesRoom * options.scale);
  height_ += lines_.height() + kRankGap;
}

void TimelineLayout::placeRank(const RunModel& model, const Options& options, int rank,
                               bool collapsed) {
  RankBox box;
  box.rank = rank;
  box.collapsed = collapsed;
  box.pinned = std::ranges::find(options.pinned, rank) != options.pinned.end();
  box.top = height_;
  height_ += kRankHeader;
  for (int role = 0; role < kLaneRoles; ++role) {
    if (const Lane* lane = model.lane(laneId(rank, static_cast<LaneRole>(role)))) {
      placeLane(model, options, box, *lane);
    }
  }
  if (!box.collapsed) {
    placeCounters(model, options, box);
  }
  box.height = height_ - box.top;
  height_ += kRankGap;
  boxOf_[static_cast<std::size_t>(rank)] = static_cast<int>(ranks_.size());
  ranks_.push_back(std::move(box));
}

void TimelineLayout::placeLane(const RunModel& model, const Options& options, RankBox& box,
                               const Lane& lane) {
  const LaneRole role = roleOfLane(lane.id);
  LaneBox laneBox;
  laneBox.lane = lane.id;
  laneBox.top = height_;
  double y = height_ + (box.collapsed ? 1 : lanePadding(options.density));
  for (int row = 0; row < static_cast<int>(lane.rows.size()); ++row) {
    const bool shown = !box.collapsed || shownCollapsed(role, row);
    if (!shown || !hasSpans(model, lane.rows[static_cast<std::size_t>(row)], options.within)) {
      continue;
    }
    const double height = std::round(
        (box.collapsed ? kCollapsedRow : rowHeight(role, row, options.density)) * options.scale);
    laneBox.rows.push_back({row, y, height, box.collapsed && role == LaneRole::kCommunication});
    y += box.collapsed ? 0 : height + rowGap(options.density);
  }
  if (laneBox.rows.empty()) {
    return;
  }
  height_ = y + (box.collapsed ? laneBox.rows.back().height + 1
                               : lanePadding(options.density) - rowGap(options.density));
  laneBox.height = height_ - laneBox.top;
  box.lanes.push_back(std::move(laneBox));
}

void TimelineLayout::placeCounters(const RunModel& model, const Options& options, RankBox& box) {
  const double row = options.density == Density::kUsual ? kCounterRow : kCounterStrip;
  for (const std::string& name : options.counters) {
    if (model.counters().find(name, box.rank) == nullptr) {
      continue;
    }
    const double height = std::round(row * options.scale);
    box.counters.push_back({name, height_, height});
    height_ += height;
  }
}

void TimelineLayout::placeWorld(const RunModel& model, const Options& options) {
  double y = kLanePadding;
  for (const std::uint8_t group : model.meetings().groups()) {
    const MeetingTable& table = model.meetings().table(group);
    if (model.membersOf(group).size() < 2 ||
        (!options.startUp && metInStartUpAlone(model, table))) {
      continue;
    }
    const int rows = rowsWithin(model, table, options.within);
    for (int row = 0; row < rows; ++row) {
      const double height = std::round(worldRow(options.density) * options.scale);
      world_.rows.push_back({group, row, y, height});
      y += height + kRowGap;
    }
  }
  if (!world_.rows.empty()) {
    world_.height = y + kLanePadding - kRowGap;
    height_ = world_.height + kRankGap;
  }
}

std::span<const TimelineLayout::RankBox> TimelineLayout::ranksWithin(double top,
                                                                     double bottom) const {
  const auto first = std::ranges::partition_point(
      ranks_, [top](const RankBox& box) { return box.top + box.height <= top; });
  const auto last = std::partition_point(first, ranks_.end(),
                                         [bottom](const RankBox& box) { return box.top < bottom; });
  return {first, last};
}

const TimelineLayout::RankBox* TimelineLayout::boxOf(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  return rank < 0 || at >= boxOf_.size() || boxOf_[at] < 0
             ? nullptr
             : &ranks_[static_cast<std::size_t>(boxOf_[at])];
}

void TimelineLayout::placeForecast(const Options& options) {
  if (options.forecastRows == 0) {
    return;
  }
  forecast_.top = height_;
  double y = height_ + kLanePadding;
  for (std::size_t row = 0; row < options.forecastRows; ++row) {
    const double height = std::round(kWorldRow * options.scale);
    forecast_.rows.push_back({static_cast<int>(row), y, height});
    y += height + kRowGap;
  }
  forecast_.height = y + kLanePadding - kRowGap - forecast_.top;
  height_ = forecast_.top + forecast_.height + kRankGap;
}

std::optional<TimelineLayout::WorldRow> TimelineLayout::worldHit(double y) const {
  const WorldRow* row = boxAt(world_.rows, y);
  return row != nullptr ? std::optional(*row) : std::nullopt;
}

std::optional<TimelineLayout::CounterHit> TimelineLayout::counterHit(double y) const {
  const RankBox* rank = boxAt(ranks_, y);
  const CounterBox* box = rank != nullptr ? boxAt(rank->counters, y) : nullptr;
  return box != nullptr ? std::optional(CounterHit{rank->rank, *box}) : std::nullopt;
}

std::optional<int> TimelineLayout::headerAt(double y) const {
  const RankBox* rank = boxAt(ranks_, y);
  return rank != nullptr && y < rank->top + kRankHeader ? std::optional(rank->rank) : std::nullopt;
}

const TimelineLayout::LaneBox* TimelineLayout::laneAt(double y) const {
  const RankBox* rank = boxAt(ranks_, y);
  return rank != nullptr ? boxAt(rank->lanes, y) : nullptr;
}

std::optional<TimelineLayout::Row> TimelineLayout::find(int lane, int row) const {
  const RankBox* rank = boxOf(rankOfLane(lane));
  if (rank == nullptr) {
    return std::nullopt;
  }
  for (const LaneBox& box : rank->lanes) {
    for (const Row& candidate : box.rows) {
      if (box.lane == lane && candidate.row == row) {
        return candidate;
      }
    }
  }
  return std::nullopt;
}

}  // namespace lockstep::ui
