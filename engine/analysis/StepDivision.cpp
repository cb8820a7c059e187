#include "engine/analysis/StepDivision.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "engine/analysis/Intervals.h"

namespace lockstep::analysis {
namespace {

using BucketKey = RankMoments::BucketKey;

constexpr std::size_t kRoom = 6;  // of most steps' parts and buckets

// Note [Dividing a step]
// The rule is Note [Tail]; this is how its parts find each other. A step of 10 ms with two buckets:
//
//       computing   ======================--------------------
//       bucket 0            wwttttt
//       bucket 1                     wttttttttttttttttt
//       exposed                           xxxxxxxxxxxxx
//
// divideExposed() goes through the flights by arrival and lets each claim what is left of
// `exposed`: its waiting first, which goes to the last rank at once (blameLast), then its transfer,
// which is only added up by bucket. divideTransfers() then asks of each bucket why that transfer
// was exposed, in the order in which buckets became ready; each answer takes what it explains, and
// what is left over is a late bucket. `tooMuch` runs over all buckets: it is how much of the step's
// transfer exceeds all of its backward, and once it is used up a further bucket was merely late.

/// Divides one step of one rank.
class Division {
 public:
  Division(const MomentsByRank& moments, const RankFlights& rank, const RunAnalysis& run,
           const StepTimes& times, const base::ClockCalibration& clock)
      : moments_(moments),
        run_(run),
        rank_(rank),
        own_(*moments.of(times.rank)),
        clock_(clock),
        window_{times.startTicks, times.endTicks} {
    of_.times = times;
    of_.tail.reserve(kRoom);
  }

  StepOverlap divide() {
    const Intervals flying = clip(rank_.inFlight, window_);
    const Intervals busy = clip(rank_.computing, window_);
    exposed_ = subtract(flying, busy);
    // `flying` is both exposed and hidden: the step less it and less `alone` is neither.
    const std::uint64_t alone = length(busy) - common(busy, flying);
    of_.aloneMs = toMs(alone);
    of_.otherMs = toMs(window_.end - window_.begin - alone - length(flying));
    const Intervals waits = subtract(clip(rank_.waits, window_), flying);
    of_.idleMs = toMs(length(waits) - common(waits, busy));
    backward_ = intersect(busy, clip(rank_.backward, window_));
    of_.forwardComputingMs = toMs(common(busy, clip(rank_.forward, window_)));
    of_.backwardComputingMs = toMs(length(backward_));
    measureCarried(flying);
    divideExposed();
    if (of_.times.kept < trace::KeptDetail::kWhole) {
      takeSums();
    }
    std::stable_sort(of_.tail.begin(), of_.tail.end(),
                     [](const TailItem& a, const TailItem& b) { return a.ms > b.ms; });
    of_.tail.shrink_to_fit();  // of a long run there are as many as steps
    return std::move(of_);
  }

 private:
  /// The exposed transfer of one bucket.
  struct Transfer {
    BucketKey key;
    const Flight* largest = nullptr;
    const BucketsTime* times = nullptr;
    std::uint64_t largestTicks = 0;
    std::uint64_t beganTicks = 0;  ///< the first of its collectives
    std::uint64_t endedTicks = 0;  ///< the last
    std::uint64_t exposedTicks = 0;
    std::uint64_t transferTicks = 0;
    std::uint64_t queueTicks = 0;
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

  /// Of a step whose spans were left out the recorder's sums hold; what of the exposed part has no
  /// spans to divide it by stays undivided, and has no cause.
  void takeSums() {
    const StepTimes& sums = of_.times;
    const double divided = of_.noCoreMs + of_.waitingMs + of_.transferMs;
    of_.aloneMs = sums.computingMs - sums.overlapMs;
    of_.undividedMs = std::max(0.0, sums.exposedMs - divided);
    of_.otherMs = std::max(0.0, sums.stepMs - of_.aloneMs - sums.inFlightMs);
    if (sums.kept == trace::KeptDetail::kSums) {
      of_.tail.clear();
      of_.carriedMs.reset();
    }
  }

  void measureCarried(const Intervals& flying) {
    std::vector<Interval> moving = clip(rank_.copies, window_);
    eachFlight([&](const Flight& flight) {
      moving.push_back({flight.allThereTicks, flight.endTicks});
    });
    const Intervals carried = intersect(flying, unite(std::move(moving)));
    carriedTicks_ = length(carried);
    of_.carriedExposedMs = toMs(common(carried, exposed_));
    // One moment in flight of which it is unknown whether data moved, and there is no figure.
    if (common(flying, clip(rank_.known, window_)) == length(flying)) {
      of_.carriedMs = toMs(carriedTicks_);
    }
  }

  void divideExposed() {
    Intervals left = exposed_;
    std::vector<Transfer> transfers;
    transfers.reserve(kRoom);
    const Intervals withoutCore = intersect(left, clip(rank_.offCore, window_));
    if (const std::uint64_t ticks = length(withoutCore); ticks > 0) {
      left = subtract(left, withoutCore);
      of_.noCoreMs = toMs(ticks);
      item(TailCause::kNoCore, ticks, nullptr).contextMs = of_.times.coreWaitMs;
    }
    eachFlight([&](const Flight& flight) {
      const std::uint64_t waited = takeOut({flight.arrivedTicks, flight.allThereTicks}, left);
      const std::uint64_t moved = takeOut({flight.allThereTicks, flight.endTicks}, left);
      blameLast(flight, waited);
      of_.waitingMs += toMs(waited);
      of_.transferMs += toMs(moved);
      const CollectiveTimes& collective = *flight.collective;
      const BucketsTime* times = own_.bucket(collective.step, collective.bucket);
      if (times != nullptr) {
        Transfer& transfer = transferOf({collective.step, collective.bucket}, transfers);
        if (transfer.largest == nullptr) {
          transfer.beganTicks = flight.arrivedTicks;
        }
        transfer.times = times;
        transfer.exposedTicks += moved;
        transfer.endedTicks = std::max(transfer.endedTicks, flight.endTicks);
        transfer.waitedTicks += flight.waitTicks();
        if (transfer.longestWaited == nullptr ||
            flight.waitTicks() > transfer.longestWaited->waitTicks()) {
          transfer.longestWaited = &flight;
        }
        transfer.transferTicks += flight.transferTicks();
        transfer.queueTicks += flight.queueTicks;
        bucketFlights_.push_back(&flight);
        if (transfer.largest == nullptr || moved > transfer.largestTicks) {
          transfer.largest = &flight;
          transfer.largestTicks = moved;
        }
      } else if (moved > 0) {
        item(TailCause::kOutsideBuckets, moved, &flight).transferMs = toMs(flight.transferTicks());
      }
    });
    divideTransfers(transfers);
    const std::uint64_t copied = common(left, clip(rank_.copies, window_));
    const std::uint64_t unknown = length(left) - copied;
    of_.undividedMs = toMs(length(left));
    if (copied > 0) {
      item(TailCause::kCopies, copied, nullptr);
    }
    if (unknown > 0) {
      item(TailCause::kUnknown, unknown, nullptr);
    }
  }

  /// What was waited for the last rank of a collective, and the transfer that was exposed because
  /// of it, are one: its own, or that of the cores that it did not have.
  void blameLast(const Flight& flight, std::uint64_t ticks) {
    const CollectiveTimes& collective = *flight.collective;
    const int last = collective.lastRank.value_or(kUnclearRank);
    if (const std::uint64_t part = takeCoreWait(last, collective.step, ticks); part > 0) {
      TailItem& blamed = blamedItem(TailCause::kNoCore, last, flight, part);
      blamed.contextMs = moments_.of(last)->coreWaitMs(collective.step);
      ticks -= part;
    }
    if (ticks == 0) {
      return;
    }
    const bool late = last != kUnclearRank && run_.isLate(last);
    TailItem& blamed =
        blamedItem(late ? TailCause::kLateRank : TailCause::kUnevenRanks, last, flight, ticks);
    // Of several collectives of one bucket: the longest wait, hidden or not.
    blamed.contextMs = std::max(blamed.contextMs, toMs(flight.waitTicks()));
    blamed.judged = !run_.lateness.empty();
    const RankMoments* peer = moments_.of(last);
    const BucketsTime* here = own_.bucket(collective.step, collective.bucket);
    const BucketsTime* there =
        peer == nullptr ? nullptr : peer->bucket(collective.step, collective.bucket);
    if (here != nullptr && there != nullptr) {
      blamed.readyLaterMs = std::optional(there->readyTicks >= here->readyTicks
                                              ? toMs(there->readyTicks - here->readyTicks)
                                              : -toMs(here->readyTicks - there->readyTicks));
    }
  }

  /// Adds to the part of this cause, rank and bucket.
  TailItem& blamedItem(TailCause cause, int last, const Flight& flight, std::uint64_t ticks) {
    for (TailItem& known : of_.tail) {
      if (known.cause == cause && known.peer == last && known.bucket == flight.collective->bucket) {
        known.ms += toMs(ticks);
        return known;
      }
    }
    TailItem& made = item(cause, ticks, &flight);
    made.peer = last;
    return made;
  }

  /// Of `ticks` that were waited for a rank, what its step thread had no core for; no moment of
  /// that is given twice.
  std::uint64_t takeCoreWait(int rank, std::uint32_t step, std::uint64_t ticks) {
    const RankMoments* peer = moments_.of(rank);
    const double whole = peer == nullptr || ticks == 0 ? 0 : peer->coreWaitMs(step);
    if (whole <= 0) {
      return 0;
    }
    // One budget a rank and step: the core that rank 1 lacked for 2 ms explains 2 ms of what is
    // waited for it in this step, whichever collectives they were waited in.
    double& left = coreWaitLeftMs_.try_emplace({rank, step}, whole).first->second;
    const double taken = std::min(left, toMs(ticks));
    left -= taken;
    return std::min(ticks, static_cast<std::uint64_t>(taken * 1e6 / clock_.nsPerTick));
  }

  /// That of a bucket; a step has few.
  static Transfer& transferOf(const BucketKey& key, std::vector<Transfer>& transfers) {
    const auto known = std::ranges::find(transfers, key, &Transfer::key);
    if (known != transfers.end()) {
      return *known;
    }
    Transfer& made = transfers.emplace_back();
    made.key = key;
    return made;
  }

  void divideTransfers(std::vector<Transfer>& transfers) {
    std::ranges::sort(transfers, [](const Transfer& a, const Transfer& b) {
      return std::tie(a.times->readyTicks, a.key) < std::tie(b.times->readyTicks, b.key);
    });
    // What the backward could have hidden at best; more than that no order of buckets could hide.
    const std::uint64_t room = length(backward_);
    std::uint64_t tooMuch = carriedTicks_ > room ? carriedTicks_ - room : 0;
    for (const Transfer& transfer : transfers) {
      std::uint64_t left = transfer.exposedTicks;
      const CollectiveTimes& collective = *transfer.largest->collective;
      const BucketsTime& times = *transfer.times;
      const auto ahead = own_.ahead(collective.step, collective.bucket);
      const std::uint64_t stood = ahead && transfer.beganTicks > times.readyTicks
                                      ? transfer.beganTicks - times.readyTicks
                                      : 0;
      if (const std::uint64_t part = std::min(left, stood); part > 0) {
        TailItem& stalled = item(TailCause::kInOrderStall, part, transfer.largest);
        stalled.ahead = *ahead;
        stalled.contextMs = toMs(times.launchedTicks - times.readyTicks);
        stalled.transferMs = toMs(transfer.transferTicks);
        left -= part;
      }
      if (const std::uint64_t part = std::min(left, tooMuch); part > 0) {
        TailItem& slow = item(TailCause::kMuchTransfer, part, transfer.largest);
        slow.contextMs = toMs(room);
        // Of the step, not of this bucket: the sentence is about all of its transfers.
        slow.transferMs = toMs(carriedTicks_);
        slow.calls = static_cast<double>(bucketFlights_.size());
        slow.latencyMs = latencyMs();
        slow.coreWaitMs = of_.times.coreWaitMs;
        left -= part;
        tooMuch -= part;
      }
      if (const std::uint64_t part = std::min(left, transfer.waitedTicks); part > 0) {
        blameLast(*transfer.longestWaited, part);
        left -= part;
      }
      if (left > 0) {
        TailItem& late = item(TailCause::kLateBucket, left, transfer.largest);
        late.contextMs = toMs(length(clip(backward_, {times.readyTicks, transfer.endedTicks})));
        late.wholeMs = toMs(transfer.endedTicks - times.readyTicks);
        late.queueMs = toMs(transfer.queueTicks);
        late.transferMs = toMs(transfer.transferTicks);
      }
    }
  }

  /// What of the step's transfers does not depend on their bytes, by a straight line through the
  /// smallest and the largest.
  [[nodiscard]] std::optional<double> latencyMs() const {
    constexpr double kSizesDiffer = 1.5;
    const auto bySize = [](const Flight* a, const Flight* b) {
      return a->collective->bytes < b->collective->bytes;
    };
    const auto [small, large] =
        std::minmax_element(bucketFlights_.begin(), bucketFlights_.end(), bySize);
    const auto bytes = static_cast<double>((*small)->collective->bytes);
    const double more = static_cast<double>((*large)->collective->bytes) - bytes;
    if (bytes <= 0 || more < (kSizesDiffer - 1) * bytes) {
      return std::nullopt;
    }
    const double ofSmall = toMs((*small)->transferTicks());
    const double msPerByte = std::max(0.0, (toMs((*large)->transferTicks()) - ofSmall) / more);
    const double each = std::max(0.0, ofSmall - msPerByte * bytes);
    return std::min(each * static_cast<double>(bucketFlights_.size()), toMs(carriedTicks_));
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
      // The middle of the transfer: a click on the part leads there.
      made.ticks = flight->endTicks - (flight->endTicks - flight->allThereTicks) / 2;
    }
    return made;
  }

  const MomentsByRank& moments_;
  const RunAnalysis& run_;
  const RankFlights& rank_;
  const RankMoments& own_;
  const base::ClockCalibration& clock_;
  const Interval window_;
  StepOverlap of_;
  Intervals exposed_;
  Intervals backward_;  // computing
  std::uint64_t carriedTicks_ = 0;
  std::vector<const Flight*> bucketFlights_;                        // that reach into the step
  std::map<std::pair<int, std::uint32_t>, double> coreWaitLeftMs_;  // of a rank in a step
};

}  // namespace

StepOverlap dividedStep(const MomentsByRank& moments, const RankFlights& rank,
                        const RunAnalysis& run, const StepTimes& times,
                        const base::ClockCalibration& clock) {
  return Division(moments, rank, run, times, clock).divide();
}

}  // namespace lockstep::analysis
