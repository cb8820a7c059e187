#include "engine/analysis/RankFlights.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;
using Ranks = std::map<int, RankFlights>;

/// Of calls that a rank came to at one moment, the first by group and number.
auto orderOf(const Flight& flight) {
  return std::tuple(flight.arrivedTicks, flight.collective->group, flight.collective->sequence);
}

/// Sorts the flights and finds what each spent under earlier ones.
void orderFlights(RankFlights& rank) {
  std::sort(rank.flights.begin(), rank.flights.end(),
            [](const Flight& a, const Flight& b) { return orderOf(a) < orderOf(b); });
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

std::uint64_t endOfStepsBelow(const run::Grown<StepTicks>& steps, std::uint32_t next) {
  const std::size_t open = firstOfStep(steps, next);
  return open == 0 ? 0 : steps[open - 1].endTicks;
}

bool FlightPieces::wants(EventKind kind) {
  return run::factsOf(kind).value != run::ValueIs::kParameter && !run::has(kind, run::kHookPhase) &&
         !run::has(kind, run::kOfCall);
}

bool FlightPieces::add(int number, const SpanRow& span) {
  if (!wants(span.kind)) {
    return true;
  }
  OfRank& rank = ranks_[number];
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
      return span.step >= next_;
    case EventKind::kBucketLaunched:
      rank.buckets[{span.step, span.bucket}].launchedTicks = span.startTicks;
      return span.step >= next_;
    default:
      break;
  }
  return true;
}

std::map<int, RankFlights> FlightPieces::gather(const RunAnalysis& run, double nsPerTick,
                                                std::vector<RankActivity> activities) const {
  Ranks ranks;
  for (RankActivity& activity : activities) {
    RankFlights& rank = ranks[activity.rank];
    rank.inFlight = std::move(activity.inFlight);
    rank.computing = std::move(activity.computing);
    rank.offCore = std::move(activity.offCore);
  }
  for (const auto& [number, pieces] : ranks_) {
    RankFlights& rank = ranks[number];
    rank.forward = unite(pieces.forward);
    rank.backward = unite(pieces.backward);
    rank.waits = unite(pieces.waits);
    rank.copies = unite(pieces.copies);
    rank.buckets = pieces.buckets;
  }
  for (const auto& [group, collectives] : run.collectives.lists()) {
    const auto needed = needed_.find(group);
    for (std::size_t i = needed == needed_.end() ? 0 : needed->second; i < collectives.size();
         ++i) {
      const CollectiveTimes& collective = collectives[i];
      for (std::size_t j = 0; collective.complete && j < collective.arrivals.size(); ++j) {
        const Arrival& arrival = collective.arrivals[j];
        ranks[arrival.rank].flights.push_back(
            {&collective, arrival.startTicks, arrival.allThereTicks, arrival.endTicks, 0});
      }
    }
  }
  for (const auto& [number, steps] : run.stepRows.lists()) {
    for (std::size_t i = firstOfStep(steps, firstStep_); i < steps.size(); ++i) {
      ranks[number].coreWaitMs[steps[i].step] = steps[i].coreWait * nsPerTick / 1e6;
    }
  }
  for (auto& [number, rank] : ranks) {
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

void FlightPieces::forget(std::uint32_t next, const RunAnalysis& run, const Ranks& flights) {
  next_ = next;
  // A flight is needed that reaches into a step or the transfer of a flight that is open.
  std::map<int, std::uint64_t> neededFrom;
  for (const auto& [number, steps] : run.stepRows.lists()) {
    const std::uint64_t before = endOfStepsBelow(steps, next);
    std::uint64_t& from = neededFrom[number] = before;
    for (const Flight& flight : flights.at(number).flights) {
      from = flight.collective->step < next ? from : std::min(from, flight.allThereTicks);
    }
    OfRank& rank = ranks_[number];
    for (auto* pieces : {&rank.forward, &rank.backward, &rank.waits, &rank.copies}) {
      std::erase_if(*pieces, [before](const Interval& piece) { return piece.end <= before; });
    }
  }
  firstStep_ = next;
  for (const auto& [group, collectives] : run.collectives.lists()) {
    std::size_t& needed = needed_[group];
    const auto over = [&](const Arrival& arrival) {
      return arrival.endTicks <= neededFrom[arrival.rank];
    };
    while (needed < collectives.size() && collectives[needed].step < next &&
           std::ranges::all_of(collectives[needed].arrivals, over)) {
      ++needed;
    }
    for (std::size_t i = needed; i < collectives.size() && collectives[i].step < next; ++i) {
      firstStep_ = std::min(firstStep_, collectives[i].step);
    }
  }
  for (auto& [number, rank] : ranks_) {
    rank.buckets.erase(rank.buckets.begin(), rank.buckets.lower_bound({firstStep_, 0}));
  }
}

}  // namespace lockstep::analysis
