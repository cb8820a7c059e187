#include "engine/analysis/RankFlights.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/base/MergeRuns.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

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

Flight flightOf(const CollectiveTimes& collective, const Arrival& arrival) {
  return {&collective, arrival.startTicks, arrival.allThereTicks, arrival.endTicks, 0};
}

/// By key, each bucket once: of what is told twice the last.
RankMoments::Buckets bucketByBucket(RankMoments::Buckets moments) {
  base::mergeRuns(moments, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::size_t count = 0;
  for (const auto& [key, times] : moments) {
    if (count == 0 || moments[count - 1].first != key) {
      moments[count++] = {key, times};
      continue;
    }
    BucketsTime& known = moments[count - 1].second;
    known.readyTicks = times.readyTicks != 0 ? times.readyTicks : known.readyTicks;
    known.launchedTicks = times.launchedTicks != 0 ? times.launchedTicks : known.launchedTicks;
  }
  moments.resize(count);
  moments.shrink_to_fit();  // of a whole run they stay
  return moments;
}

}  // namespace

bool RankMoments::wants(EventKind kind) {
  return kind == EventKind::kBucketReady || kind == EventKind::kBucketLaunched;
}

void RankMoments::add(const SpanRow& span, Buckets& to) {
  const bool ready = span.kind == EventKind::kBucketReady;
  to.push_back(
      {{span.step, span.bucket}, {ready ? span.startTicks : 0, ready ? 0 : span.startTicks}});
}

RankMoments::RankMoments(const Buckets& buckets, const run::Grown<StepTicks>* steps,
                         std::size_t first, double nsPerTick)
    : buckets_(bucketByBucket(buckets)) {
  std::map<std::uint32_t, double> waits;
  for (std::size_t i = first; steps != nullptr && i < steps->size(); ++i) {
    const StepTicks& step = (*steps)[i];
    if (step.coreWait != 0 || waits.contains(step.step)) {
      waits[step.step] = step.coreWait * nsPerTick / 1e6;
    }
  }
  coreWaits_.assign(waits.begin(), waits.end());
}

/// The first whose key is at least this. Steps mostly have as many buckets each, so it is near
/// where it then would be: of many ranks a binary search from both ends would wait for memory each
/// time.
RankMoments::Buckets::const_iterator RankMoments::firstFrom(const BucketKey& key) const {
  const auto begin = buckets_.begin();
  const auto end = buckets_.end();
  if (begin == end || key <= begin->first) {
    return begin;
  }
  const std::uint64_t firstStep = begin->first.first;
  const std::uint64_t steps = buckets_.back().first.first - firstStep + 1;
  const std::uint64_t guess = (key.first - firstStep) * buckets_.size() / steps;
  auto high = begin + static_cast<std::ptrdiff_t>(std::min(guess, buckets_.size() - 1));
  auto low = high;
  std::ptrdiff_t by = 4;
  for (; low != begin && low->first >= key; by *= 2) {
    high = low;
    low -= std::min(by, low - begin);
  }
  for (by = 4; high != end && high->first < key; by *= 2) {
    low = high;
    high += std::min(by, end - high);
  }
  return std::ranges::lower_bound(low, high, key, {}, &Buckets::value_type::first);
}

const BucketsTime* RankMoments::bucket(std::uint32_t step, std::uint16_t bucket) const {
  const BucketKey key{step, bucket};
  const auto at = firstFrom(key);
  // Ticks are never 0: an instant that was dropped has left its 0.
  const bool whole = at != buckets_.end() && at->first == key && at->second.readyTicks != 0 &&
                     at->second.launchedTicks != 0;
  return whole ? &at->second : nullptr;
}

std::optional<std::uint16_t> RankMoments::ahead(std::uint32_t step, std::uint16_t bucket) const {
  std::optional<std::uint16_t> found;
  const auto end = firstFrom({step, bucket});
  std::uint64_t latest = end->second.readyTicks;
  auto at = end;
  while (at != buckets_.begin() && std::prev(at)->first.first == step) {
    --at;
  }
  // Buckets are launched in their order, as c10d does it: only one of a lower number stands ahead.
  for (; at != end; ++at) {
    if (at->second.readyTicks > latest) {
      latest = at->second.readyTicks;
      found = at->first.second;
    }
  }
  return found;
}

double RankMoments::coreWaitMs(std::uint32_t step) const {
  const auto at =
      std::ranges::lower_bound(coreWaits_, step, {}, &std::pair<std::uint32_t, double>::first);
  return at == coreWaits_.end() || at->first != step ? 0 : at->second;
}

const RankMoments* MomentsByRank::of(int rank) const {
  // Ranks are numbered from 0 on, and mostly all of them are here.
  const auto place = static_cast<std::size_t>(rank);
  if (rank >= 0 && place < ranks_.size() && ranks_[place].first == rank) {
    return &ranks_[place].second;
  }
  const auto at = std::ranges::lower_bound(ranks_, rank, {}, &std::pair<int, RankMoments>::first);
  return at == ranks_.end() || at->first != rank ? nullptr : &at->second;
}

std::uint64_t endOfStepsBelow(const run::Grown<StepTicks>& steps, std::uint32_t next) {
  const std::size_t open = firstOfStep(steps, next);
  return open == 0 ? 0 : steps[open - 1].endTicks;
}

bool RankPieces::wants(EventKind kind) {
  return run::factsOf(kind).value != run::ValueIs::kParameter && !run::has(kind, run::kHookPhase) &&
         !run::has(kind, run::kOfCall);
}

void RankPieces::add(const SpanRow& span) {
  const Interval interval{span.startTicks, span.startTicks + span.durationTicks};
  if (countedAs(span).copies()) {
    copies.push_back(interval);
  }
  switch (span.kind) {
    case EventKind::kForward:
      forward.push_back(interval);
      break;
    case EventKind::kBackward:
      backward.push_back(interval);
      break;
    case EventKind::kWait:
      waits.push_back(interval);
      break;
    default:
      break;
  }
}

RankFlights RankPieces::flights(RankActivity activity, std::vector<Flight> flights) const {
  RankFlights rank;
  rank.inFlight = std::move(activity.inFlight);
  rank.computing = std::move(activity.computing);
  rank.offCore = std::move(activity.offCore);
  rank.forward = unite(forward);
  rank.backward = unite(backward);
  rank.waits = unite(waits);
  rank.copies = unite(copies);
  rank.flights = std::move(flights);
  orderFlights(rank);
  // What is in flight and not in here is a send, a receive, or a collective that some rank has no
  // record of: nobody can tell its waiting from its transfer.
  std::vector<Interval> known = rank.copies;
  for (const Flight& flight : rank.flights) {
    known.push_back({flight.arrivedTicks, flight.endTicks});
  }
  rank.known = unite(std::move(known));
  return rank;
}

FlightsByRank::FlightsByRank(const RunAnalysis& run) {
  for (const CollectiveTimes& collective : run.collectives) {
    if (collective.complete) {
      collectives_.push_back(&collective);
    }
  }
  next_.resize(collectives_.size());
}

std::vector<Flight> FlightsByRank::of(int rank) {
  std::vector<Flight> flights;
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    const std::vector<Arrival>& arrivals = collectives_[i]->arrivals;  // by rank
    std::size_t& next = next_[i];
    for (; next < arrivals.size() && arrivals[next].rank <= rank; ++next) {
      if (arrivals[next].rank == rank) {
        flights.push_back(flightOf(*collectives_[i], arrivals[next]));
      }
    }
  }
  return flights;
}

bool FlightPieces::add(int number, const SpanRow& span) {
  if (RankMoments::wants(span.kind)) {
    RankMoments::add(span, ranks_[number].buckets);
    return span.step >= next_;
  }
  if (RankPieces::wants(span.kind)) {
    ranks_[number].pieces.add(span);
  }
  return true;
}

FlightPieces::Gathered FlightPieces::gather(const RunAnalysis& run, double nsPerTick,
                                            std::vector<RankActivity> activities) const {
  std::map<int, RankActivity> activityOf;
  for (RankActivity& activity : activities) {
    activityOf[activity.rank] = std::move(activity);
  }
  std::map<int, std::vector<Flight>> flightsOf;
  for (const auto& [group, collectives] : run.collectives.lists()) {
    const auto needed = needed_.find(group);
    for (std::size_t i = needed == needed_.end() ? 0 : needed->second; i < collectives.size();
         ++i) {
      const CollectiveTimes& collective = collectives[i];
      for (std::size_t j = 0; collective.complete && j < collective.arrivals.size(); ++j) {
        const Arrival& arrival = collective.arrivals[j];
        flightsOf[arrival.rank].push_back(flightOf(collective, arrival));
      }
    }
  }
  Gathered gathered;
  std::map<int, RankMoments> moments;
  const OfRank none;
  for (const auto& [number, steps] : run.stepRows.lists()) {
    const auto rank = ranks_.find(number);
    const OfRank& of = rank == ranks_.end() ? none : rank->second;
    gathered.ranks.emplace(
        number, of.pieces.flights(std::move(activityOf[number]), std::move(flightsOf[number])));
    moments.emplace(number,
                    RankMoments(of.buckets, &steps, firstOfStep(steps, firstStep_), nsPerTick));
  }
  // A rank that has not ended a step yet may have been the last of a collective all the same.
  for (const auto& [number, of] : ranks_) {
    moments.try_emplace(number, of.buckets, nullptr, 0, nsPerTick);
  }
  for (auto& [number, of] : moments) {
    gathered.moments.add(number, std::move(of));
  }
  return gathered;
}

void FlightPieces::forget(std::uint32_t next, const RunAnalysis& run,
                          const std::map<int, RankFlights>& flights) {
  next_ = next;
  // A flight is needed that reaches into a step or the transfer of a flight that is open.
  std::map<int, std::uint64_t> neededFrom;
  for (const auto& [number, steps] : run.stepRows.lists()) {
    const std::uint64_t before = endOfStepsBelow(steps, next);
    std::uint64_t& from = neededFrom[number] = before;
    for (const Flight& flight : flights.at(number).flights) {
      from = flight.collective->step < next ? from : std::min(from, flight.allThereTicks);
    }
    RankPieces& rank = ranks_[number].pieces;
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
    std::erase_if(rank.buckets,
                  [this](const auto& bucket) { return bucket.first.first < firstStep_; });
  }
}

}  // namespace lockstep::analysis
