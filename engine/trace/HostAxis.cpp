#include "engine/trace/HostAxis.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace lockstep::trace {
namespace {

bool isSound(const base::ClockCalibration& clock) {
  return std::isfinite(clock.nsPerTick) && clock.nsPerTick > 0;
}

}  // namespace

void HostAxis::setRanks(const std::vector<RankInfo>& ranks) {
  hostOfRank_.clear();
  for (const RankInfo& rank : ranks) {
    if (rank.host != kRecordingHost) {
      hostOfRank_[rank.rank] = rank.host;
    }
  }
  findTracks();
}

void HostAxis::setTracks(const std::vector<TrackInfo>& tracks) {
  tracks_ = tracks;
  findTracks();
}

void HostAxis::findTracks() {
  hostOfTrack_.clear();
  for (const TrackInfo& track : tracks_) {
    if (const auto host = hostOfRank_.find(track.rank); host != hostOfRank_.end()) {
      hostOfTrack_[track.id] = host->second;
    }
  }
}

// Note [One axis]
//
// A tick of another host becomes one of the recording host by way of time: through that host's
// calibration to its CLOCK_MONOTONIC, less the offset to the recording host's, and back through
// the recording host's own calibration. Both are lines, so the way is one line: an origin, its
// place here, and a rate.
//
//   ticks there ──▶ ns there ──▶ ns here ──▶ ticks here
//        nsPerTick       - offset     / nsPerTick
void HostAxis::setClocks(const std::map<int, HostClock>& clocks) {
  placements_.clear();
  const auto own = clocks.find(kRecordingHost);
  if (own == clocks.end() || !isSound(own->second.calibration)) {
    return;
  }
  const base::ClockCalibration& here = own->second.calibration;
  for (const auto& [host, clock] : clocks) {
    const base::ClockCalibration& there = clock.calibration;
    if (host == kRecordingHost || !isSound(there)) {
      continue;
    }
    const std::int64_t apartNs = there.originNs - clock.offset.offsetNs - here.originNs;
    placements_[host] = Placement{
        there.originTicks,
        static_cast<double>(here.originTicks) + static_cast<double>(apartNs) / here.nsPerTick,
        there.nsPerTick / here.nsPerTick};
  }
}

std::uint64_t HostAxis::Placement::operator()(std::uint64_t ticks) const {
  // Signed: a row may be older than the origin of the calibration.
  const auto since = static_cast<double>(static_cast<std::int64_t>(ticks - originTicks));
  // A damaged file may hold any number; the axis has 63 bits.
  constexpr double kHighest = 9.2e18;
  return static_cast<std::uint64_t>(
      std::llround(std::clamp(zeroTicks + since * rate, 0.0, kHighest)));
}

// Both ends are rounded the same way, so that spans that touch, or lie within each other, still do.
void HostAxis::Placement::operator()(SpanRow& row) const {
  const std::uint64_t start = (*this)(row.startTicks);
  if (row.durationTicks > 0) {  // a short span must not become an instant
    const std::uint64_t end = (*this)(row.startTicks + row.durationTicks);
    row.durationTicks = std::max<std::uint64_t>(end - start, 1);
  }
  row.startTicks = start;
}

void HostAxis::Placement::operator()(MetricRow& row) const {
  row.ticks = (*this)(row.ticks);
  row.host = kRecordingHost;
}

std::optional<double> HostAxis::rateOf(int rank) const {
  const auto host = hostOfRank_.find(rank);
  if (host == hostOfRank_.end()) {
    return 1;
  }
  const auto placement = placements_.find(host->second);
  return placement == placements_.end() ? std::nullopt : std::optional(placement->second.rate);
}

template <typename Row, typename HostOf>
void HostAxis::placeRows(std::vector<Row>& rows, std::size_t first,
                         std::map<int, std::vector<Row>>& waiting, const HostOf& hostOf) {
  // Moves what stays down over what waits, in one pass and in order.
  auto kept = rows.begin() + static_cast<std::ptrdiff_t>(first);
  auto placement = placements_.end();
  int placed = kRecordingHost;  // of the row before: the next is likely of it too
  for (auto row = kept; row != rows.end(); ++row) {
    const int host = hostOf(*row);
    if (host != kRecordingHost) {
      if (host != placed) {
        placement = placements_.find(placed = host);
      }
      if (placement == placements_.end()) {
        waiting[host].push_back(std::move(*row));
        continue;
      }
      placement->second(*row);
    }
    if (kept != row) {
      *kept = std::move(*row);
    }
    ++kept;
  }
  rows.erase(kept, rows.end());
}

void HostAxis::place(std::vector<SpanRow>& rows, std::size_t first) {
  if (hostOfTrack_.empty()) {
    return;
  }
  std::optional<std::int32_t> track;  // of the row before, likewise
  int host = kRecordingHost;
  placeRows(rows, first, waitingSpans_, [&](const SpanRow& row) {
    if (row.track != track) {
      const auto of = hostOfTrack_.find(row.track);
      host = of == hostOfTrack_.end() ? kRecordingHost : of->second;
      track = row.track;
    }
    return host;
  });
}

void HostAxis::place(std::vector<MetricRow>& rows, std::size_t first) {
  placeRows(rows, first, waitingMetrics_, [](const MetricRow& row) { return row.host; });
}

template <typename Row>
void HostAxis::releaseRows(std::vector<Row>& rows, std::size_t most,
                           std::map<int, std::vector<Row>>& waiting) {
  // A host that has waited long may have more rows than one poll hands out: the rest stays for the
  // next.
  for (auto it = waiting.begin(); it != waiting.end() && rows.size() < most;) {
    const auto placement = placements_.find(it->first);
    if (placement == placements_.end()) {
      ++it;
      continue;
    }
    std::vector<Row>& held = it->second;
    const auto end =
        held.begin() + static_cast<std::ptrdiff_t>(std::min(held.size(), most - rows.size()));
    std::for_each(held.begin(), end, placement->second);
    rows.insert(rows.end(), std::make_move_iterator(held.begin()), std::make_move_iterator(end));
    held.erase(held.begin(), end);
    it = held.empty() ? waiting.erase(it) : std::next(it);
  }
}

void HostAxis::release(std::vector<SpanRow>& rows, std::size_t most) {
  releaseRows(rows, most, waitingSpans_);
}

void HostAxis::release(std::vector<MetricRow>& rows) {
  releaseRows(rows, SIZE_MAX, waitingMetrics_);
}

std::map<int, std::size_t> HostAxis::waiting() const {
  std::map<int, std::size_t> counts;
  for (const auto& [host, rows] : waitingSpans_) {
    counts[host] += rows.size();
  }
  for (const auto& [host, rows] : waitingMetrics_) {
    counts[host] += rows.size();
  }
  return counts;
}

void HostAxis::dropWaiting() {
  waitingSpans_.clear();
  waitingMetrics_.clear();
}

}  // namespace lockstep::trace
