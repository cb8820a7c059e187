#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/analysis/BucketCosts.h"
#include "engine/analysis/GrowingFigure.h"
#include "engine/analysis/Intervals.h"
#include "engine/analysis/RankActivity.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"
#include "engine/analysis/SortedValues.h"
#include "engine/analysis/StepOverlap.h"
#include "engine/run/Grown.h"

namespace lockstep::analysis {

/// What a rank's part in the communication of a bucket may be measured by, in ms a step.
enum class BucketMeasure : std::uint8_t {
  kLateness,  ///< how long after the first rank it came to the bucket's first collective; 0 where
              ///< the clocks of their hosts cannot tell
  kWaiting,   ///< from its arrival to the last rank's, over the bucket's collectives
  kTransfer,  ///< from the last arrival to the end, over the bucket's collectives
  kExposed,   ///< time in flight for the bucket in which this rank did not compute
  kCost,      ///< what of that is this bucket's and no other's: Note [What a bucket costs]
};
inline constexpr std::size_t kBucketMeasures = 5;

/// One step of one bucket on one rank.
struct BucketSample {
  std::uint32_t step = 0;
  std::uint32_t span = 0;        ///< the bucket's first collective in the step: its id
  std::uint64_t startTicks = 0;  ///< and its begin
  std::array<float, kBucketMeasures> ms{-1, -1, -1, -1, -1};  ///< by BucketMeasure; < 0: unknown
  bool counts = false;  ///< its cost is known, and among those of the mean (BucketCosts::counts)

  [[nodiscard]] std::optional<double> of(BucketMeasure measure) const {
    const float value = ms[static_cast<std::size_t>(measure)];
    return value < 0 ? std::nullopt : std::optional<double>(value);
  }
  bool operator==(const BucketSample&) const = default;
};

/// The medians leave out the warm-up, as RunAnalysis does, that of the cost all that its mean
/// leaves out; the samples hold every step.
struct BucketCell {
  run::Grown<BucketSample> samples;  ///< by step
  std::uint32_t measuredSteps = 0;
  std::array<std::optional<double>, kBucketMeasures> medianMs;
  std::array<std::optional<std::uint32_t>, kBucketMeasures> worst;  ///< index into `samples`

  /// Returns the sample of a step; null when there is none. By binary search.
  [[nodiscard]] const BucketSample* at(std::uint32_t step) const;
};

/// Rank x bucket, for every bucket that was communicated. A copy costs as much as there are cells.
struct BucketDelays {
  std::vector<int> ranks;
  int buckets = 0;                ///< numbers 0 .. buckets - 1
  std::vector<BucketCell> cells;  ///< rank by rank
  BucketCosts costs;              ///< their means, and which of them is the largest

  [[nodiscard]] bool empty() const { return cells.empty(); }
  [[nodiscard]] const BucketCell& cell(std::size_t row, int bucket) const {
    return cells[row * static_cast<std::size_t>(buckets) + static_cast<std::size_t>(bucket)];
  }
};

/// Measures each bucket on each rank. Lateness, waiting and transfer are unknown where a rank of
/// the group left no record, and where ranks talk in pairs; `analysis` is analyse(data).
/// Exposed times of buckets that are in flight together overlap: they do not add up to a step's.
BucketDelays bucketDelays(const RunData& data, const RunAnalysis& analysis);

/// rankStepOverlaps() and bucketDelays(), of which each divides all steps: at once they do it once.
struct StepsAndDelays {
  std::vector<std::vector<StepOverlap>> steps;
  BucketDelays delays;
};
StepsAndDelays stepsAndDelays(const RunData& data, const RunAnalysis& analysis);
/// The same for who has the steps in one list, as stepOverlaps() gives them.
std::vector<StepOverlap> stepOverlaps(const RunData& data, const RunAnalysis& analysis,
                                      BucketDelays& delays);

/// What a rank was in flight for, bucket by bucket, as its spans come.
class BucketCalls {
 public:
  struct Call {
    Interval inFlight;
    std::uint32_t step = 0;
    std::uint32_t span = 0;  // its id
    std::uint16_t bucket = 0;
    bool collective = false;  // and not what goes before or after one
  };

  /// Whether spans of this kind may be such calls.
  static bool wants(trace::EventKind kind);
  void add(const trace::SpanRow& span);
  /// All of them, by bucket, then step, then as they came.
  const std::vector<Call>& sorted();
  /// Forgets those of steps below `next`.
  void forget(std::uint32_t next);

 private:
  std::vector<Call> calls_;
};

/// What is known of a bucket on a rank. A copy costs little.
struct MeasuredBucket {
  BucketCell cell;  ///< without its medians
  GrowingMedians<kBucketMeasures> medians;
};

/// The same of a run that grows: Note [Figures of closed steps]. One thread at a time.
class GrowingBucketDelays : private GrowingFigure {
 public:
  /// `data` and `analysis` go on with those of the last call.
  BucketDelays refresh(const RunData& data, const RunAnalysis& analysis);

 private:
  /// A rank's spans.
  struct OfRank {
    ActivityPieces activity;
    BucketCalls calls;
  };
  bool add(int rank, const trace::SpanRow& span);
  void forget(std::uint32_t next, const RunAnalysis& analysis);

  std::map<int, OfRank> ranks_;                                     // of steps that are open
  std::map<std::pair<int, std::uint16_t>, MeasuredBucket> closed_;  // by rank and bucket
  GrowingOverlaps overlaps_;
  BucketCosts costs_;  // of closed steps
};

}  // namespace lockstep::analysis
