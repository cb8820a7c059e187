#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

/// What a rank's part in the communication of a bucket may be measured by, in ms a step.
enum class BucketMeasure : std::uint8_t {
  kLateness,  ///< how long after the first rank it came to the bucket's first collective; 0 where
              ///< the clocks of their hosts cannot tell
  kWaiting,   ///< from its arrival to the last rank's, over the bucket's collectives
  kTransfer,  ///< from the last arrival to the end, over the bucket's collectives
  kExposed,   ///< time in flight for the bucket in which this rank did not compute
};
inline constexpr std::size_t kBucketMeasures = 4;

/// One step of one bucket on one rank.
struct BucketSample {
  std::uint32_t step = 0;
  std::uint32_t span = 0;  ///< index into RunData::spans: the bucket's first collective in the step
  std::array<float, kBucketMeasures> ms{-1, -1, -1, -1};  ///< by BucketMeasure; below 0: unknown

  [[nodiscard]] std::optional<double> of(BucketMeasure measure) const {
    const float value = ms[static_cast<std::size_t>(measure)];
    return value < 0 ? std::nullopt : std::optional<double>(value);
  }
};

/// The medians leave out the warm-up, as RunAnalysis does; the samples hold every step.
struct BucketCell {
  std::vector<BucketSample> samples;  ///< by step
  std::uint32_t measuredSteps = 0;
  std::array<std::optional<double>, kBucketMeasures> medianMs;
  std::array<std::optional<std::uint32_t>, kBucketMeasures> worst;  ///< index into `samples`

  /// Returns the sample of a step; null when there is none. By binary search.
  [[nodiscard]] const BucketSample* at(std::uint32_t step) const;
};

/// Rank x bucket, for every bucket that was communicated.
struct BucketDelays {
  std::vector<int> ranks;
  int buckets = 0;                ///< numbers 0 .. buckets - 1
  std::vector<BucketCell> cells;  ///< rank by rank

  [[nodiscard]] bool empty() const { return cells.empty(); }
  [[nodiscard]] const BucketCell& cell(std::size_t row, int bucket) const {
    return cells[row * static_cast<std::size_t>(buckets) + static_cast<std::size_t>(bucket)];
  }
};

/// Measures each bucket on each rank. Lateness, waiting and transfer are unknown where a rank of
/// the group left no record, and where ranks talk in pairs; `analysis` is analyse(data).
/// Exposed times of buckets that are in flight together overlap: they do not add up to a step's.
BucketDelays bucketDelays(const RunData& data, const RunAnalysis& analysis);

}  // namespace lockstep::analysis
