#include "ui/model/RunModel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/Check.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

// How many spans a search for the same kind looks at before it gives up.
constexpr std::size_t kNeighbourReach = 1'000'000;

}  // namespace

int RunModel::rankCount() const {
  return std::max({info_.worldSize, static_cast<int>(ranks_.size()), highestRank_ + 1});
}

const trace::HostState* RunModel::hostOf(int rank) const {
  if (hosts_.size() < 2) {
    return nullptr;
  }
  const auto info = std::ranges::find(ranks_, rank, &trace::RankInfo::rank);
  const int number = info == ranks_.end() ? trace::kRecordingHost : info->host;
  const auto host = std::ranges::find_if(
      hosts_, [number](const auto& other) { return other.info.host == number; });
  return host == hosts_.end() ? nullptr : &*host;
}

QString RunModel::trackName(int track) const {
  const auto info = std::ranges::find(data_.tracks, track, &trace::TrackInfo::id);
  return info == data_.tracks.end() ? QString() : QString::fromStdString(info->name);
}

const trace::BucketsMessage* RunModel::layoutAt(std::uint32_t step) const {
  const trace::BucketsMessage* found = nullptr;
  for (const trace::BucketsMessage& layout : data_.layouts) {
    if (found == nullptr || layout.step <= step) {
      found = &layout;
    }
  }
  return found;
}

std::optional<std::uint32_t> RunModel::rebuildStep() const {
  const auto rebuilt = std::ranges::find_if(
      data_.layouts, [](std::uint32_t layout) { return layout > 0; },
      &trace::BucketsMessage::layout);
  return rebuilt == data_.layouts.end() ? std::nullopt : std::optional(rebuilt->step);
}

const std::vector<MetricPoint>& RunModel::metric(const std::string& name, int rank) const {
  static const std::vector<MetricPoint> kNone;
  const CounterSeries* series = counters_.find(name, rank);
  return series == nullptr ? kNone : series->points();
}

double RunModel::toNs(std::uint64_t ticks) const {
  // The difference is taken in integers, so that nothing is lost however large ticks are.
  return static_cast<double>(static_cast<std::int64_t>(ticks - originTicks_.value_or(0))) *
         data_.clock.nsPerTick;
}

std::uint64_t RunModel::toTicks(double ns) const {
  const double delta = std::floor(ns / data_.clock.nsPerTick);
  const std::uint64_t origin = originTicks_.value_or(0);
  if (delta <= -static_cast<double>(origin)) {
    return 0;
  }
  constexpr double kFarthest = 9e18;
  return origin + static_cast<std::uint64_t>(static_cast<std::int64_t>(std::min(delta, kFarthest)));
}

TimeRange RunModel::extent() const {
  return spanCount_ == 0 ? TimeRange{} : TimeRange{toNs(firstTicks_), toNs(lastTicks_)};
}

const Lane* RunModel::lane(int id) const {
  const auto it = std::ranges::lower_bound(lanes_, id, {}, &Lane::id);
  return it != lanes_.end() && it->id == id ? &*it : nullptr;
}

const run::SpanStore* RunModel::rowOf(int laneId, int row) const {
  const Lane* found = lane(laneId);
  const bool exists = found != nullptr && row >= 0 && row < static_cast<int>(found->rows.size());
  return exists ? &found->rows[static_cast<std::size_t>(row)] : nullptr;
}

Span RunModel::spanOf(int lane, int row, const run::SpanRecord& record) const {
  Span span;
  span.id = record.id;
  span.lane = lane;
  span.row = row;
  span.track = trackTable_[record.track].id;
  span.kind = static_cast<EventKind>(record.kind);
  span.step = record.step;
  span.bucket = record.bucket;
  span.detail = record.detail;
  span.value = record.value;
  span.startNs = toNs(record.startTicks);
  span.durationNs = static_cast<double>(record.durationTicks) * data_.clock.nsPerTick;
  return span;
}

Span RunModel::spanAt(int lane, int row, std::size_t index) const {
  const run::SpanStore* store = rowOf(lane, row);
  LOCKSTEP_CHECK(store != nullptr, "lane {} has no row {}", lane, row);
  return spanOf(lane, row, store->at(index));
}

std::optional<Span> RunModel::findSpan(int lane, int row, double ns, double slackNs) const {
  const run::SpanStore* store = rowOf(lane, row);
  if (store == nullptr || store->empty()) {
    return std::nullopt;
  }
  std::optional<Span> best;
  double bestDistance = std::numeric_limits<double>::infinity();
  const std::size_t from = store->firstEndingAfter(toTicks(ns - slackNs));
  // Within the slack lie few spans that can be told apart; the nearest are looked at.
  constexpr std::size_t kReach = 64;
  const std::size_t near = store->firstEndingAfter(toTicks(ns));
  for (std::size_t i = std::max(from, near > kReach ? near - kReach : 0);
       i < store->size() && i < near + kReach; ++i) {
    const Span span = spanOf(lane, row, store->at(i));
    if (span.startNs > ns + slackNs) {
      break;
    }
    const double distance = ns < span.startNs   ? span.startNs - ns
                            : ns > span.endNs() ? ns - span.endNs()
                                                : 0;
    if (distance < bestDistance) {
      best = span;
      bestDistance = distance;
    }
  }
  return best;
}

std::optional<std::size_t> RunModel::indexOf(const Span& span) const {
  const run::SpanStore* store = rowOf(span.lane, span.row);
  if (store == nullptr || store->empty()) {
    return std::nullopt;
  }
  // The tick of the start may be off by one after the way through ns and back.
  const std::uint64_t ticks = toTicks(span.startNs);
  const auto slack = static_cast<std::uint64_t>(2 + 2 / data_.clock.nsPerTick);
  for (std::size_t i = store->firstStartingAt(ticks > slack ? ticks - slack : 0);
       i < store->size() && store->startAt(i) <= ticks + slack; ++i) {
    if (store->at(i).id == span.id) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<Span> RunModel::neighbour(const Span& span, int direction) const {
  return neighbourIf(span, direction, std::nullopt);
}

std::optional<Span> RunModel::neighbourOfSameKind(const Span& span, int direction) const {
  return neighbourIf(span, direction, span.kind);
}

// Order within a lane: by start, then from the top row down.
std::optional<Span> RunModel::neighbourIf(const Span& span, int direction,
                                          std::optional<EventKind> kind) const {
  const Lane* in = lane(span.lane);
  const std::optional<std::size_t> own = indexOf(span);
  if (in == nullptr || !own) {
    return std::nullopt;
  }
  const std::uint64_t ownStart = rowOf(span.lane, span.row)->startAt(*own);
  std::optional<Span> best;
  std::uint64_t bestStart = 0;
  for (int row = 0; row < static_cast<int>(in->rows.size()); ++row) {
    const run::SpanStore& store = in->rows[static_cast<std::size_t>(row)];
    // The first of this row that comes after the span; the one before that comes before the span.
    std::size_t behind = row == span.row  ? *own + 1
                         : row < span.row ? store.firstStartingAt(ownStart + 1)
                                          : store.firstStartingAt(ownStart);
    std::size_t before = row == span.row ? *own : behind;
    for (std::size_t looked = 0; looked < kNeighbourReach; ++looked) {
      if (direction > 0 ? behind >= store.size() : before == 0) {
        break;
      }
      const std::size_t index = direction > 0 ? behind++ : --before;
      const run::SpanRecord record = store.at(index);
      if (kind && static_cast<EventKind>(record.kind) != *kind) {
        continue;
      }
      const bool better =
          !best || (direction > 0 ? record.startTicks < bestStart : record.startTicks >= bestStart);
      if (better) {
        best = spanOf(span.lane, row, record);
        bestStart = record.startTicks;
      }
      break;
    }
  }
  return best;
}

std::vector<GapSpan> RunModel::gaps(int lane, TimeRange within, double closeNs) const {
  std::vector<GapSpan> found;
  const unsigned role = 1u << static_cast<unsigned>(roleOfLane(lane));
  constexpr unsigned kPhasesOnly = 1u << static_cast<unsigned>(LaneRole::kPhases);
  const std::uint64_t from = toTicks(within.startNs);
  const std::uint64_t until = toTicks(within.endNs);
  const auto closeTicks =
      static_cast<std::uint64_t>(std::max(0.0, closeNs) / data_.clock.nsPerTick);
  for (const Track& track : trackTable_) {
    const unsigned roles = track.roles == 0 ? kPhasesOnly : track.roles;
    if (track.rank != rankOfLane(lane) || (roles & role) == 0) {
      continue;
    }
    // Gaps of one thread follow each other, so that their ends are sorted too.
    auto gap = std::ranges::lower_bound(track.gaps, from, {}, &Gap::endTicks);
    while (gap != track.gaps.end() && gap->startTicks <= until) {
      const auto first = gap;
      ++gap;
      // Goes on while the next gap is close to the last one that was taken. A turn takes all gaps
      // that begin within `closeTicks` of that one, by a search and not one by one.
      while (closeTicks > 0 && gap != track.gaps.end() && gap->startTicks <= until &&
             gap->startTicks <= std::prev(gap)->endTicks + closeTicks) {
        const std::uint64_t reach = std::min(until, std::prev(gap)->endTicks + closeTicks);
        gap = std::partition_point(gap, track.gaps.end(),
                                   [reach](const Gap& one) { return one.startTicks <= reach; });
      }
      const std::uint64_t before = first == track.gaps.begin() ? 0 : std::prev(first)->lostUpTo;
      const auto last = std::prev(gap);
      found.push_back(
          {toNs(first->startTicks), toNs(last->endTicks), last->lostUpTo - before, track.id});
    }
  }
  return found;
}

}  // namespace lockstep::ui
