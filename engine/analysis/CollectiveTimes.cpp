#include "engine/analysis/CollectiveTimes.h"

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/analysis/SequenceNumbers.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::Operation;
using trace::SpanRow;

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
    // The oldest check of this kind that is left. One that ends only after the collective began is
    // that of a later call: this collective was not compared, or its check was dropped.
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

void measure(CollectiveTimes& collective, const std::set<int>& ranks, const RunData& data) {
  const base::ClockCalibration& clock = data.clock;
  const auto byStart = [](const Arrival& a, const Arrival& b) {
    return a.startTicks < b.startTicks;
  };
  const auto [first, last] =
      std::minmax_element(collective.arrivals.begin(), collective.arrivals.end(), byStart);
  const std::uint64_t lastTicks = last->startTicks;
  // Known from those that are there, however many are missing; all that follows is not.
  collective.skewMs = clock.durationNs(lastTicks - first->startTicks) / 1e6;
  if (collective.arrivals.size() < ranks.size()) {
    return;
  }
  collective.complete = true;
  collective.lastRank = last->rank;
  for (Arrival& arrival : collective.arrivals) {
    const std::int64_t doubtNs = data.doubt.betweenNs(arrival.rank, last->rank);
    // Ranks of one host share a clock, and the doubt is 0: then the order stands as it is. So it is
    // for the last rank itself, which is 0 ticks off.
    const bool unclear = doubtNs > 0 && clock.durationNs(lastTicks - arrival.startTicks) <=
                                            static_cast<double>(doubtNs);
    if (unclear) {
      collective.lastRank.reset();
    }
    // A rank may be done before the last arrives, as the root of a broadcast is.
    arrival.allThereTicks = unclear ? arrival.startTicks : std::min(lastTicks, arrival.endTicks);
    arrival.waitingMs = clock.durationNs(arrival.allThereTicks - arrival.startTicks) / 1e6;
    arrival.transferMs = clock.durationNs(arrival.endTicks - arrival.allThereTicks) / 1e6;
  }
}

std::vector<SpanRow> spansByStart(const RunData& data, const RankOfTrack& rankOf,
                                  std::initializer_list<EventKind> kinds) {
  std::vector<SpanRow> spans;
  for (const SpanRow& span : data.spans) {
    const Operation operation = trace::operationOf(span.detail);
    if (std::find(kinds.begin(), kinds.end(), span.kind) != kinds.end() &&
        rankOf.contains(span.track) && operation != Operation::kSend &&
        operation != Operation::kRecv) {
      spans.push_back(span);
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const SpanRow& a, const SpanRow& b) { return a.startTicks < b.startTicks; });
  return spans;
}

/// Puts the ranks' spans of one call together; they come in the order of time.
class Gathering {
 public:
  void add(int rank, const SpanRow& span, std::uint64_t arrivalTicks) {
    const std::uint8_t group = trace::groupOf(span.detail);
    CollectiveTimes& collective = of(span);
    if (collective.arrivals.empty()) {
      // What the first one to come says is taken for all. Where they differ, CallSequences tells.
      collective.operation = trace::operationOf(span.detail);
      collective.step = span.step;
      collective.bucket = span.bucket;
      collective.bytes = trace::collectiveBytes(span.value);
    }
    // A group's members are not in the file: they are those who were seen in any of its calls.
    ranksOf_[group].insert(rank);
    collective.arrivals.push_back(
        Arrival{rank, arrivalTicks, span.startTicks + span.durationTicks, 0, 0, 0});
  }

  /// The modelled link goes on where the backend was done.
  void prolong(int rank, const SpanRow& link) {
    for (Arrival& arrival : of(link).arrivals) {
      if (arrival.rank == rank) {
        arrival.endTicks = std::max(arrival.endTicks, link.startTicks + link.durationTicks);
      }
    }
  }

  /// Those that at least two ranks recorded, by group and number.
  std::vector<CollectiveTimes> finish(const RunData& data) {
    std::vector<CollectiveTimes> all;
    for (auto& [key, collective] : collectives_) {
      if (collective.arrivals.size() >= 2) {
        std::sort(collective.arrivals.begin(), collective.arrivals.end(),
                  [](const Arrival& a, const Arrival& b) { return a.rank < b.rank; });
        measure(collective, ranksOf_[key.first], data);
        all.push_back(std::move(collective));
      }
    }
    return all;
  }

 private:
  CollectiveTimes& of(const SpanRow& span) {
    const std::uint8_t group = trace::groupOf(span.detail);
    const std::uint64_t sequence = unwraps_[group](trace::collectiveSequence(span.value));
    CollectiveTimes& collective = collectives_[{group, sequence}];
    collective.group = group;
    collective.sequence = sequence;
    return collective;
  }

  std::map<std::uint8_t, SequenceNumbers> unwraps_;
  std::map<std::uint8_t, std::set<int>> ranksOf_;
  std::map<std::pair<std::uint8_t, std::uint64_t>, CollectiveTimes> collectives_;
};

}  // namespace

std::vector<CollectiveTimes> collectiveTimes(const RunData& data) {
  const RankOfTrack rankOf = data.rankOfTrack();
  Checks checks;
  Gathering gathering;
  for (const SpanRow& span : spansByStart(
           data, rankOf, {EventKind::kCollective, EventKind::kShaped, EventKind::kChecked})) {
    const int rank = rankOf.at(span.track);
    switch (span.kind) {
      case EventKind::kChecked:
        checks.add(rank, span);
        break;
      // The model's span has the number of its collective and begins where that ended, so that in
      // the order of time its collective is already there.
      case EventKind::kShaped:
        gathering.prolong(rank, span);
        break;
      default:
        gathering.add(rank, span, checks.arrivalOf(rank, span));
        break;
    }
  }
  return gathering.finish(data);
}

std::vector<CollectiveTimes> checkTimes(const RunData& data) {
  const RankOfTrack rankOf = data.rankOfTrack();
  Gathering gathering;
  for (const SpanRow& span : spansByStart(data, rankOf, {EventKind::kChecked})) {
    gathering.add(rankOf.at(span.track), span, span.startTicks);
  }
  return gathering.finish(data);
}

}  // namespace lockstep::analysis
