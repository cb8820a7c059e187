#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/Durations.h"
#include "engine/analysis/HookTimes.h"

namespace lockstep::analysis {

/// One bucket's calls: what a bar and a row of the table show.
struct HookBucket {
  std::uint16_t bucket = trace::kNoBucket;
  std::array<Durations, kHookPhases> phases;
  Durations total;
  double share = 0;                            ///< its part of the time of all calls, 0..1
  std::array<double, kHookPhases> shares{};    ///< the same of its phases
  std::optional<std::uint64_t> gradientBytes;  ///< of the bucket; none: around the step, or unknown
  double payloadBytes = 0;                     ///< median of a call

  /// Gradient bytes over payload bytes; none when either is unknown or 0.
  [[nodiscard]] std::optional<double> ratio() const;
  /// True where no call has any of it.
  [[nodiscard]] bool lacks(HookPhase phase) const;
};

/// Returns one entry for each bucket, by number, what is around the step last; of one rank, or of
/// all when `rank` is none. `layouts` tell the sizes of the buckets.
std::vector<HookBucket> hookBuckets(const HookTimes& times,
                                    const std::vector<trace::BucketsMessage>& layouts,
                                    std::optional<int> rank = std::nullopt);

/// What the hook costs and saves a step; medians over steps and ranks.
struct HookStep {
  double workMs = 0;         ///< encode and decode of all buckets and around the step
  double communicateMs = 0;  ///< waiting, transfer and queue of all; buckets may overlap
  double payloadBytes = 0;
  std::optional<std::uint64_t> gradientBytes;  ///< of all buckets; none: unknown
};
HookStep hookStep(const HookTimes& times, const std::vector<trace::BucketsMessage>& layouts,
                  std::optional<int> rank = std::nullopt);

/// Returns the longest call of a bucket, by one phase or, without, by all of it; null of none.
const HookCall* longestCall(const HookTimes& times, std::uint16_t bucket,
                            std::optional<HookPhase> phase, std::optional<int> rank);

}  // namespace lockstep::analysis
