#include "engine/analysis/RankFlights.h"

#include <algorithm>
#include <unordered_map>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;
using Ranks = std::map<int, RankFlights>;

void gatherFlights(const RunAnalysis& run, Ranks& ranks) {
  for (const CollectiveTimes& collective : run.collectives) {
    if (!collective.complete) {
      continue;
    }
    for (const Arrival& arrival : collective.arrivals) {
      ranks[arrival.rank].flights.push_back(
          {&collective, arrival.startTicks, arrival.allThereTicks, arrival.endTicks, 0});
    }
  }
}

void gatherSpans(const RunData& data, Ranks& ranks) {
  // Most spans are of parameters, of the hook or of collectives, and none of these is wanted.
  const auto looksAt = [](EventKind kind) {
    return run::factsOf(kind).value != run::ValueIs::kParameter &&
           !run::has(kind, run::kHookPhase) && !run::has(kind, run::kOfCall);
  };
  data.eachSpanOf(looksAt, 0, [&](int number, const SpanRow& span) {
    RankFlights& rank = ranks[number];
    const Interval interval{span.startTicks, span.startTicks + span.durationTicks};
    if (countedAs(span).copies()) {
      rank.copies.push_back(interval);
    }
    switch (span.kind) {
      case EventKind::kForward:
        rank.forward.push_back(interval);
        break;
      case EventKind::kBackward:
        rank.backward.push_back(interval);
        break;
      case EventKind::kWait:
        rank.waits.push_back(interval);
        break;
      case EventKind::kBucketReady:
        rank.buckets[{span.step, span.bucket}].readyTicks = span.startTicks;
        break;
      case EventKind::kBucketLaunched:
        rank.buckets[{span.step, span.bucket}].launchedTicks = span.startTicks;
        break;
      default:
        break;
    }
  });
}

/// Sorts the flights and finds what each spent under earlier ones.
void orderFlights(RankFlights& rank) {
  std::sort(rank.flights.begin(), rank.flights.end(),
            [](const Flight& a, const Flight& b) { return a.arrivedTicks < b.arrivedTicks; });
  std::uint64_t latest = 0;
  for (std::size_t i = 0; i < rank.flights.size(); ++i) {
    Flight& flight = rank.flights[i];
    std::vector<Interval> earlier;
    // Backwards through those that it came to before. latestEnds[j] is the latest end of the
    // flights up to j: once that lies before this transfer began, none of them can reach into it.
    for (std::size_t j = i; j-- > 0 && rank.latestEnds[j] > flight.allThereTicks;) {
      earlier.push_back({rank.flights[j].allThereTicks, rank.flights[j].endTicks});
    }
    flight.queueTicks =
        length(clip(unite(std::move(earlier)), {flight.allThereTicks, flight.endTicks}));
    latest = std::max(latest, flight.endTicks);
    rank.latestEnds.push_back(latest);
  }
}

}  // namespace

const BucketsTime* RankFlights::bucket(std::uint32_t step, std::uint16_t bucket) const {
  const auto at = buckets.find({step, bucket});
  // Ticks are never 0: an instant that was dropped has left its 0.
  const bool whole =
      at != buckets.end() && at->second.readyTicks != 0 && at->second.launchedTicks != 0;
  return whole ? &at->second : nullptr;
}

std::optional<std::uint16_t> RankFlights::ahead(std::uint32_t step, std::uint16_t bucket) const {
  std::optional<std::uint16_t> found;
  std::uint64_t latest = buckets.at({step, bucket}).readyTicks;
  // Buckets are launched in their order, as c10d does it: only one of a lower number stands ahead.
  for (auto at = buckets.lower_bound({step, 0});
       at != buckets.end() && at->first < BucketKey{step, bucket}; ++at) {
    if (at->second.readyTicks > latest) {
      latest = at->second.readyTicks;
      found = at->first.second;
    }
  }
  return found;
}

std::map<int, RankFlights> rankFlights(const RunData& data, const RunAnalysis& run,
                                       std::vector<RankActivity> activities) {
  Ranks ranks;
  gatherSpans(data, ranks);
  gatherFlights(run, ranks);
  for (RankActivity& activity : activities) {
    RankFlights& rank = ranks[activity.rank];
    rank.inFlight = std::move(activity.inFlight);
    rank.computing = std::move(activity.computing);
    rank.offCore = std::move(activity.offCore);
  }
  for (const StepTimes& step : run.steps()) {
    ranks[step.rank].coreWaitMs[step.step] = step.coreWaitMs;
  }
  for (auto& [number, rank] : ranks) {
    rank.forward = unite(std::move(rank.forward));
    rank.backward = unite(std::move(rank.backward));
    rank.waits = unite(std::move(rank.waits));
    rank.copies = unite(std::move(rank.copies));
    orderFlights(rank);
    // What is in flight and not in here is a send, a receive, or a collective that some rank has no
    // record of: nobody can tell its waiting from its transfer.
    std::vector<Interval> known = rank.copies;
    for (const Flight& flight : rank.flights) {
      known.push_back({flight.arrivedTicks, flight.endTicks});
    }
    rank.known = unite(std::move(known));
  }
  return ranks;
}

}  // namespace lockstep::analysis
