#include "engine/analysis/CollectiveTimes.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::Operation;
using trace::SpanRow;

/// Continues the numbers of a group beyond their 24 bits. One for all ranks, in the order of
/// time: a rank whose records around the wrap were dropped must not be taken for one that has
/// not wrapped. Records of one moment come in any order, so a number a little below the one
/// before it is an older one; any other has moved on.
class Unwrap {
 public:
  std::uint64_t operator()(std::uint32_t sequence) {
    if (!seen_) {
      seen_ = true;
      last_ = sequence;
      return last_;
    }
    const std::uint64_t ahead = (sequence - last_) & (kWrap - 1);
    const std::uint64_t behind = kWrap - ahead;
    if (ahead != 0 && behind <= kOutOfOrder && behind <= last_) {
      return last_ - behind;
    }
    last_ += ahead;
    return last_;
  }

 private:
  static constexpr std::uint64_t kWrap = 1ull << 24;
  static constexpr std::uint64_t kOutOfOrder = 1ull << 20;
  bool seen_ = false;
  std::uint64_t last_ = 0;
};

/// When each checked collective of a rank began: a check has the numbers of its own wrapper, so
/// it is known by what its collective is about, and by their order.
class Checks {
 public:
  void add(int rank, const SpanRow& check) { waiting_[keyOf(rank, check)].push_back(check); }

  /// Returns when the rank came to the collective of this record.
  std::uint64_t arrivalOf(int rank, const SpanRow& collective) {
    const auto at = waiting_.find(keyOf(rank, collective));
    if (at == waiting_.end()) {
      return collective.startTicks;
    }
    const SpanRow check = at->second.front();
    if (check.startTicks + check.durationTicks > collective.startTicks) {
      return collective.startTicks;
    }
    at->second.pop_front();
    if (at->second.empty()) {
      waiting_.erase(at);
    }
    return check.startTicks;
  }

 private:
  using Key = std::tuple<int, Operation, std::uint32_t, std::uint16_t, std::uint64_t>;
  static Key keyOf(int rank, const SpanRow& span) {
    return {rank, trace::operationOf(span.detail), span.step, span.bucket,
            trace::collectiveBytes(span.value)};
  }
  std::map<Key, std::deque<SpanRow>> waiting_;
};

void measure(CollectiveTimes& collective, const std::set<int>& ranks,
             const base::ClockCalibration& clock) {
  const auto byStart = [](const Arrival& a, const Arrival& b) {
    return a.startTicks < b.startTicks;
  };
  const auto [first, last] =
      std::minmax_element(collective.arrivals.begin(), collective.arrivals.end(), byStart);
  const std::uint64_t lastTicks = last->startTicks;
  collective.skewMs = clock.durationNs(lastTicks - first->startTicks) / 1e6;
  if (collective.arrivals.size() < ranks.size()) {
    return;
  }
  collective.lastRank = last->rank;
  for (Arrival& arrival : collective.arrivals) {
    // A rank may be done before the last arrives, as the root of a broadcast is.
    const std::uint64_t waited = std::min(lastTicks, arrival.endTicks);
    arrival.waitingMs = clock.durationNs(waited - arrival.startTicks) / 1e6;
    arrival.transferMs = clock.durationNs(arrival.endTicks - waited) / 1e6;
  }
}

}  // namespace

std::vector<CollectiveTimes> collectiveTimes(const RunData& data) {
  std::unordered_map<std::int32_t, int> rankOf;
  for (const trace::TrackInfo& track : data.tracks) {
    rankOf[track.id] = track.rank;
  }
  std::vector<const SpanRow*> spans;
  for (const SpanRow& span : data.spans) {
    const Operation operation = trace::operationOf(span.detail);
    const bool collective = span.kind == EventKind::kCollective ||
                            span.kind == EventKind::kShaped || span.kind == EventKind::kChecked;
    if (collective && rankOf.contains(span.track) && operation != Operation::kSend &&
        operation != Operation::kRecv) {
      spans.push_back(&span);
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const SpanRow* a, const SpanRow* b) { return a->startTicks < b->startTicks; });
  Checks checks;
  std::map<std::uint8_t, Unwrap> unwraps;
  std::map<std::uint8_t, std::set<int>> ranksOf;
  std::map<std::pair<std::uint8_t, std::uint64_t>, CollectiveTimes> collectives;
  for (const SpanRow* span : spans) {
    const int rank = rankOf[span->track];
    if (span->kind == EventKind::kChecked) {
      checks.add(rank, *span);
      continue;
    }
    const std::uint8_t group = trace::groupOf(span->detail);
    const std::uint64_t sequence = unwraps[group](trace::collectiveSequence(span->value));
    CollectiveTimes& collective = collectives[{group, sequence}];
    const std::uint64_t endTicks = span->startTicks + span->durationTicks;
    if (span->kind == EventKind::kShaped) {
      // The modelled link goes on where the backend was done.
      for (Arrival& arrival : collective.arrivals) {
        arrival.endTicks =
            arrival.rank == rank ? std::max(arrival.endTicks, endTicks) : arrival.endTicks;
      }
      continue;
    }
    if (collective.arrivals.empty()) {
      collective.group = group;
      collective.sequence = sequence;
      collective.operation = trace::operationOf(span->detail);
      collective.step = span->step;
      collective.bucket = span->bucket;
      collective.bytes = trace::collectiveBytes(span->value);
    }
    ranksOf[group].insert(rank);
    collective.arrivals.push_back(Arrival{rank, checks.arrivalOf(rank, *span), endTicks, 0, 0});
  }
  std::vector<CollectiveTimes> all;
  for (auto& [key, collective] : collectives) {
    if (collective.arrivals.size() >= 2) {
      std::sort(collective.arrivals.begin(), collective.arrivals.end(),
                [](const Arrival& a, const Arrival& b) { return a.rank < b.rank; });
      measure(collective, ranksOf[key.first], data.clock);
      all.push_back(std::move(collective));
    }
  }
  return all;
}

}  // namespace lockstep::analysis
