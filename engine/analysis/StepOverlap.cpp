#include "engine/analysis/StepOverlap.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RankActivity.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

/// One rank's part in a collective whose last rank is known.
struct Flight {
  const CollectiveTimes* collective = nullptr;
  std::uint64_t arrivedTicks = 0;
  std::uint64_t allThereTicks = 0;  ///< the last rank came; at most endTicks
  std::uint64_t endTicks = 0;
};

/// When a bucket was ready and launched, on one rank in one step.
struct BucketsTime {
  std::uint64_t readyTicks = 0;
  std::uint64_t launchedTicks = 0;
};
using BucketKey = std::pair<std::uint32_t, std::uint16_t>;  // step, bucket

/// What one rank did, over the whole run.
struct Rank {
  Intervals inFlight;
  Intervals computing;
  Intervals offCore;
  Intervals forward;
  Intervals backward;
  Intervals waits;
  Intervals copies;
  Intervals known;                        // in flight and of a known kind
  std::vector<Flight> flights;            // by arrival
  std::vector<std::uint64_t> latestEnds;  // of the flights up to each
  std::map<BucketKey, BucketsTime> buckets;

  [[nodiscard]] const BucketsTime* bucket(std::uint32_t step, std::uint16_t bucket) const {
    const auto at = buckets.find({step, bucket});
    const bool whole = at != buckets.end() && at->second.readyTicks != 0 &&
                       at->second.launchedTicks != 0;  // events of it may be lost
    return whole ? &at->second : nullptr;
  }
  /// The earlier bucket that `bucket` stood behind: it became ready after it, and last of all.
  [[nodiscard]] std::optional<std::uint16_t> ahead(std::uint32_t step, std::uint16_t bucket) const {
    std::optional<std::uint16_t> found;
    std::uint64_t latest = buckets.at({step, bucket}).readyTicks;
    for (auto at = buckets.lower_bound({step, 0});
         at != buckets.end() && at->first < BucketKey{step, bucket}; ++at) {
      if (at->second.readyTicks > latest) {
        latest = at->second.readyTicks;
        found = at->first.second;
      }
    }
    return found;
  }
};
using Ranks = std::map<int, Rank>;

void gatherFlights(const RunAnalysis& run, Ranks& ranks) {
  for (const CollectiveTimes& collective : run.collectives) {
    if (!collective.complete) {
      continue;
    }
    for (const Arrival& arrival : collective.arrivals) {
      ranks[arrival.rank].flights.push_back(
          {&collective, arrival.startTicks, arrival.allThereTicks, arrival.endTicks});
    }
  }
}

void gatherSpans(const RunData& data, Ranks& ranks) {
  std::unordered_map<std::int32_t, int> rankOf;
  for (const trace::TrackInfo& track : data.tracks) {
    rankOf[track.id] = track.rank;
  }
  for (const SpanRow& span : data.spans) {
    const auto at = rankOf.find(span.track);
    if (at == rankOf.end()) {
      continue;
    }
    Rank& rank = ranks[at->second];
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
  }
}

Ranks gatherRanks(const RunData& data, const RunAnalysis& run) {
  Ranks ranks;
  gatherSpans(data, ranks);
  gatherFlights(run, ranks);
  for (RankActivity& activity : rankActivity(data)) {
    Rank& rank = ranks[activity.rank];
    rank.inFlight = std::move(activity.inFlight);
    rank.computing = std::move(activity.computing);
    rank.offCore = std::move(activity.offCore);
  }
  for (auto& [number, rank] : ranks) {
    rank.forward = unite(std::move(rank.forward));
    rank.backward = unite(std::move(rank.backward));
    rank.waits = unite(std::move(rank.waits));
    rank.copies = unite(std::move(rank.copies));
    std::sort(rank.flights.begin(), rank.flights.end(),
              [](const Flight& a, const Flight& b) { return a.arrivedTicks < b.arrivedTicks; });
    std::vector<Interval> known = rank.copies;
    std::uint64_t latest = 0;
    for (const Flight& flight : rank.flights) {
      known.push_back({flight.arrivedTicks, flight.endTicks});
      latest = std::max(latest, flight.endTicks);
      rank.latestEnds.push_back(latest);
    }
    rank.known = unite(std::move(known));
  }
  return ranks;
}

/// Divides one step of one rank.
class Division {
 public:
  Division(const Ranks& ranks, const StepTimes& times, const base::ClockCalibration& clock)
      : ranks_(ranks),
        rank_(ranks.at(times.rank)),
        clock_(clock),
        window_{times.startTicks, times.endTicks} {
    of_.times = times;
  }

  StepOverlap divide() {
    const Intervals flying = clip(rank_.inFlight, window_);
    const Intervals busy = clip(rank_.computing, window_);
    exposed_ = subtract(flying, busy);
    const std::uint64_t alone = length(subtract(busy, flying));
    of_.aloneMs = toMs(alone);
    of_.otherMs = toMs(window_.end - window_.begin - alone - length(flying));
    of_.idleMs = toMs(length(subtract(subtract(clip(rank_.waits, window_), flying), busy)));
    backward_ = intersect(busy, clip(rank_.backward, window_));
    of_.forwardComputingMs = toMs(length(intersect(busy, clip(rank_.forward, window_))));
    of_.backwardComputingMs = toMs(length(backward_));
    measureCarried(flying);
    divideExposed();
    std::stable_sort(of_.tail.begin(), of_.tail.end(),
                     [](const TailItem& a, const TailItem& b) { return a.ms > b.ms; });
    return std::move(of_);
  }

 private:
  /// The exposed transfer of one bucket.
  struct Transfer {
    const Flight* largest = nullptr;
    const BucketsTime* times = nullptr;
    std::uint64_t largestTicks = 0;
    std::uint64_t beganTicks = 0;  ///< the first of its collectives
    std::uint64_t exposedTicks = 0;
    std::uint64_t wholeTicks = 0;
    const Flight* longestWaited = nullptr;
    std::uint64_t waitedTicks = 0;  ///< for its last ranks, hidden or not
  };

  [[nodiscard]] double toMs(std::uint64_t ticks) const { return clock_.durationNs(ticks) / 1e6; }

  /// Calls `visit` with the flights that reach into the step, by arrival.
  template <typename Visit>
  void eachFlight(const Visit& visit) const {
    const auto first =
        std::upper_bound(rank_.latestEnds.begin(), rank_.latestEnds.end(), window_.begin);
    for (auto i = static_cast<std::size_t>(first - rank_.latestEnds.begin());
         i < rank_.flights.size() && rank_.flights[i].arrivedTicks < window_.end; ++i) {
      if (rank_.flights[i].endTicks > window_.begin) {
        visit(rank_.flights[i]);
      }
    }
  }

  void measureCarried(const Intervals& flying) {
    std::vector<Interval> moving = clip(rank_.copies, window_);
    eachFlight([&](const Flight& flight) {
      moving.push_back({flight.allThereTicks, flight.endTicks});
    });
    const Intervals carried = intersect(flying, unite(std::move(moving)));
    carriedTicks_ = length(carried);
    of_.carriedExposedMs = toMs(length(intersect(carried, exposed_)));
    if (subtract(flying, clip(rank_.known, window_)).empty()) {
      of_.carriedMs = toMs(carriedTicks_);
    }
  }

  void divideExposed() {
    Intervals left = exposed_;
    std::map<BucketKey, Transfer> transfers;
    const auto claim = [&](std::uint64_t begin, std::uint64_t end) {
      const Intervals claimed = end > begin ? intersect(left, {{begin, end}}) : Intervals();
      left = claimed.empty() ? std::move(left) : subtract(left, claimed);
      return length(claimed);
    };
    const Intervals withoutCore = intersect(left, clip(rank_.offCore, window_));
    if (const std::uint64_t ticks = length(withoutCore); ticks > 0) {
      left = subtract(left, withoutCore);
      of_.noCoreMs = toMs(ticks);
      item(TailCause::kNoCore, ticks, nullptr).contextMs = of_.times.offCoreMs;
    }
    eachFlight([&](const Flight& flight) {
      const std::uint64_t waited = claim(flight.arrivedTicks, flight.allThereTicks);
      const std::uint64_t moved = claim(flight.allThereTicks, flight.endTicks);
      if (waited > 0) {
        blameRank(flight, waited);
      }
      of_.waitingMs += toMs(waited);
      of_.transferMs += toMs(moved);
      const CollectiveTimes& collective = *flight.collective;
      const BucketsTime* times = rank_.bucket(collective.step, collective.bucket);
      if (times != nullptr) {
        Transfer& transfer = transfers[{collective.step, collective.bucket}];
        if (transfer.largest == nullptr) {
          transfer.beganTicks = flight.arrivedTicks;
        }
        transfer.times = times;
        transfer.exposedTicks += moved;
        transfer.waitedTicks += waitOf(flight);
        if (transfer.longestWaited == nullptr || waitOf(flight) > waitOf(*transfer.longestWaited)) {
          transfer.longestWaited = &flight;
        }
        transfer.wholeTicks += flight.endTicks - flight.allThereTicks;
        if (transfer.largest == nullptr || moved > transfer.largestTicks) {
          transfer.largest = &flight;
          transfer.largestTicks = moved;
        }
      } else if (moved > 0) {
        item(TailCause::kOutsideBuckets, moved, &flight).transferMs =
            toMs(flight.endTicks - flight.allThereTicks);
      }
    });
    divideTransfers(transfers);
    const std::uint64_t copied = length(intersect(left, clip(rank_.copies, window_)));
    const std::uint64_t unknown = length(left) - copied;
    of_.undividedMs = toMs(length(left));
    if (copied > 0) {
      item(TailCause::kCopies, copied, nullptr);
    }
    if (unknown > 0) {
      item(TailCause::kUnknown, unknown, nullptr);
    }
  }

  static std::uint64_t waitOf(const Flight& flight) {
    return flight.allThereTicks - flight.arrivedTicks;
  }

  /// What was waited for a rank in a collective, and the transfer that was exposed because of it,
  /// are one.
  void blameRank(const Flight& flight, std::uint64_t ticks) {
    const CollectiveTimes& collective = *flight.collective;
    const int last = collective.lastRank.value_or(kUnclearRank);
    for (TailItem& known : of_.tail) {
      if (known.cause == TailCause::kSlowRank && known.peer == last &&
          known.bucket == collective.bucket) {
        known.ms += toMs(ticks);
        return;
      }
    }
    TailItem& blamed = item(TailCause::kSlowRank, ticks, &flight);
    blamed.peer = last;
    blamed.contextMs = toMs(waitOf(flight));
    const auto peer = ranks_.find(blamed.peer);
    const BucketsTime* here = rank_.bucket(collective.step, collective.bucket);
    const BucketsTime* there =
        peer == ranks_.end() ? nullptr : peer->second.bucket(collective.step, collective.bucket);
    if (here != nullptr && there != nullptr) {
      blamed.readyLaterMs = there->readyTicks >= here->readyTicks
                                ? toMs(there->readyTicks - here->readyTicks)
                                : -toMs(here->readyTicks - there->readyTicks);
    }
  }

  void divideTransfers(const std::map<BucketKey, Transfer>& transfers) {
    std::vector<const Transfer*> byReady;
    for (const auto& [key, transfer] : transfers) {
      byReady.push_back(&transfer);
    }
    std::stable_sort(byReady.begin(), byReady.end(), [](const Transfer* a, const Transfer* b) {
      return a->times->readyTicks < b->times->readyTicks;
    });
    const std::uint64_t room = length(backward_);
    std::uint64_t tooMuch = carriedTicks_ > room ? carriedTicks_ - room : 0;
    for (const Transfer* transfer : byReady) {
      std::uint64_t left = transfer->exposedTicks;
      const CollectiveTimes& collective = *transfer->largest->collective;
      const BucketsTime& times = *transfer->times;
      const auto ahead = rank_.ahead(collective.step, collective.bucket);
      const std::uint64_t stood = ahead && transfer->beganTicks > times.readyTicks
                                      ? transfer->beganTicks - times.readyTicks
                                      : 0;
      if (const std::uint64_t part = std::min(left, stood); part > 0) {
        TailItem& stalled = item(TailCause::kInOrderStall, part, transfer->largest);
        stalled.ahead = *ahead;
        stalled.contextMs = toMs(times.launchedTicks - times.readyTicks);
        stalled.transferMs = toMs(transfer->wholeTicks);
        left -= part;
      }
      if (const std::uint64_t part = std::min(left, tooMuch); part > 0) {
        TailItem& slow = item(TailCause::kSlowLink, part, transfer->largest);
        slow.contextMs = toMs(room);
        slow.transferMs = toMs(carriedTicks_);
        left -= part;
        tooMuch -= part;
      }
      if (const std::uint64_t part = std::min(left, transfer->waitedTicks); part > 0) {
        blameRank(*transfer->longestWaited, part);
        left -= part;
      }
      if (left > 0) {
        TailItem& late = item(TailCause::kLateBucket, left, transfer->largest);
        late.contextMs =
            toMs(length(clip(backward_, {times.readyTicks, transfer->largest->endTicks})));
        late.transferMs = toMs(transfer->wholeTicks);
      }
    }
  }

  TailItem& item(TailCause cause, std::uint64_t ticks, const Flight* flight) {
    TailItem& made = of_.tail.emplace_back();
    made.cause = cause;
    made.rank = of_.times.rank;
    made.step = of_.times.step;
    made.ms = toMs(ticks);
    if (flight != nullptr) {
      made.bucket = flight->collective->bucket;
      made.operation = flight->collective->operation;
      made.ticks = flight->endTicks - (flight->endTicks - flight->allThereTicks) / 2;
    }
    return made;
  }

  const Ranks& ranks_;
  const Rank& rank_;
  const base::ClockCalibration& clock_;
  const Interval window_;
  StepOverlap of_;
  Intervals exposed_;
  Intervals backward_;  // computing
  std::uint64_t carriedTicks_ = 0;
};

}  // namespace

std::vector<StepOverlap> stepOverlaps(const RunData& data, const RunAnalysis& run) {
  const Ranks ranks = gatherRanks(data, run);
  std::vector<StepOverlap> all;
  all.reserve(run.steps.size());
  for (const StepTimes& times : run.steps) {
    all.push_back(Division(ranks, times, data.clock).divide());
  }
  return all;
}

}  // namespace lockstep::analysis
