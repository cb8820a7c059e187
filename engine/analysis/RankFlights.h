#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/analysis/GrowingFigure.h"
#include "engine/analysis/Intervals.h"
#include "engine/analysis/RankActivity.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

/// One rank's part in a collective whose last rank is known.
struct Flight {
  const CollectiveTimes* collective = nullptr;
  std::uint64_t arrivedTicks = 0;
  std::uint64_t allThereTicks = 0;  ///< the last rank came; at most endTicks
  std::uint64_t endTicks = 0;
  std::uint64_t queueTicks = 0;  ///< from then on, under those that this rank came to before

  [[nodiscard]] std::uint64_t waitTicks() const { return allThereTicks - arrivedTicks; }
  [[nodiscard]] std::uint64_t transferTicks() const {
    return endTicks - allThereTicks - queueTicks;
  }
};

/// When a bucket was ready and launched, on one rank in one step.
struct BucketsTime {
  std::uint64_t readyTicks = 0;
  std::uint64_t launchedTicks = 0;
};

/// What of one rank tells how long others waited for it, over a run or the part of it that is
/// looked at.
struct RankMoments {
  using BucketKey = std::pair<std::uint32_t, std::uint16_t>;  ///< step, bucket
  /// Moment by moment as they come, what is not known of a bucket 0. In one list: asked of the heap
  /// bucket by bucket, they lie among what stays of a run, ever farther apart as it goes on.
  using Buckets = std::vector<std::pair<BucketKey, BucketsTime>>;

  /// Whether spans of this kind say when a bucket was ready or launched.
  static bool wants(trace::EventKind kind);
  /// `span` is wanted.
  static void add(const trace::SpanRow& span, Buckets& to);

  RankMoments() = default;
  /// `steps`: of the rank, from the `first` of them on.
  RankMoments(const Buckets& buckets, const run::Grown<StepTicks>* steps, std::size_t first,
              double nsPerTick);

  /// None: events of it may be lost.
  [[nodiscard]] const BucketsTime* bucket(std::uint32_t step, std::uint16_t bucket) const;
  /// The earlier bucket that `bucket`, which is known, stood behind: it became ready after it, and
  /// last of all.
  [[nodiscard]] std::optional<std::uint16_t> ahead(std::uint32_t step, std::uint16_t bucket) const;
  /// StepTimes::coreWaitMs of a step; 0 also where it is not known.
  [[nodiscard]] double coreWaitMs(std::uint32_t step) const;

 private:
  [[nodiscard]] Buckets::const_iterator firstFrom(const BucketKey& key) const;

  Buckets buckets_;                                          // by key, each bucket once
  std::vector<std::pair<std::uint32_t, double>> coreWaits_;  // by step, of those that have any
};

/// Those of all ranks.
class MomentsByRank {
 public:
  /// `rank` is above those that are here.
  void add(int rank, RankMoments moments) { ranks_.emplace_back(rank, std::move(moments)); }
  /// Null: the rank has none.
  [[nodiscard]] const RankMoments* of(int rank) const;

 private:
  std::vector<std::pair<int, RankMoments>> ranks_;
};

/// What one rank did, over a run or the part of it that is looked at.
struct RankFlights {
  Intervals inFlight;
  Intervals computing;
  Intervals offCore;
  Intervals forward;
  Intervals backward;
  Intervals waits;
  Intervals copies;
  Intervals known;                        ///< in flight and of a known kind
  std::vector<Flight> flights;            ///< by arrival
  std::vector<std::uint64_t> latestEnds;  ///< of the flights up to each
};

/// Returns when the last step below `next` of a rank ended; 0: it has none.
std::uint64_t endOfStepsBelow(const run::Grown<StepTicks>& steps, std::uint32_t next);

/// What one rank's spans say of its flights, as they come.
struct RankPieces {
  /// Whether spans of this kind are wanted: most are of parameters, of the hook or of collectives,
  /// and none of these is.
  static bool wants(trace::EventKind kind);
  /// `span` is wanted.
  void add(const trace::SpanRow& span);
  /// What they come to. `flights`: of the rank, in any order.
  [[nodiscard]] RankFlights flights(RankActivity activity, std::vector<Flight> flights) const;

  std::vector<Interval> forward, backward, waits, copies;
};

/// The flights of one rank in all collectives of a run, in the order of these. Of ranks that
/// ascend: it goes on where it was.
class FlightsByRank {
 public:
  explicit FlightsByRank(const RunAnalysis& run);
  std::vector<Flight> of(int rank);

 private:
  std::vector<const CollectiveTimes*> collectives_;  // that are complete
  std::vector<std::size_t> next_;                    // of the arrivals of each
};

/// The spans and collectives of all ranks, as they come.
class FlightPieces {
 public:
  struct Gathered {
    std::map<int, RankFlights> ranks;
    MomentsByRank moments;
  };

  /// Returns false where the span changes what was forgotten.
  bool add(int rank, const trace::SpanRow& span);
  /// Returns one entry a rank, of what is not forgotten. `run` is of all that was added, and
  /// outlives what is returned; `activities` are of the same ranks and stretch of time.
  [[nodiscard]] Gathered gather(const RunAnalysis& run, double nsPerTick,
                                std::vector<RankActivity> activities) const;
  /// Forgets what no step from `next` on depends on. `flights`: what gather() said last.
  void forget(std::uint32_t next, const RunAnalysis& run,
              const std::map<int, RankFlights>& flights);

 private:
  struct OfRank {
    RankPieces pieces;
    RankMoments::Buckets buckets;
  };

  std::map<int, OfRank> ranks_;
  std::uint32_t next_ = 0;
  std::uint32_t firstStep_ = 0;                 // that collectives are of which are needed yet
  std::map<std::uint8_t, std::size_t> needed_;  // of RunAnalysis::collectives, from it on
};

}  // namespace lockstep::analysis
