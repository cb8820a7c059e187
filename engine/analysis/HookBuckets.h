#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/analysis/Durations.h"
#include "engine/analysis/HookTimes.h"
#include "engine/analysis/SortedValues.h"

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

/// What the hook costs and saves a step; medians over steps and ranks.
struct HookStep {
  double workMs = 0;  ///< encode and decode of all buckets and around the step
  double payloadBytes = 0;
  std::optional<std::uint64_t> gradientBytes;  ///< of all buckets; none: unknown
};

/// The calls of a hook, as they come, measured by bucket and by step. A copy costs little.
class HookCalls {
 public:
  HookCalls() = default;
  explicit HookCalls(const HookTimes& times) { add(times); }

  /// Adds steps, none of them among those that are here.
  void add(const HookTimes& times);
  /// All of these and `more`.
  [[nodiscard]] HookCalls with(const HookTimes& more) const;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const WarmUp& warmUp() const { return warmUp_; }
  [[nodiscard]] std::uint32_t incompleteSteps() const { return incompleteSteps_; }

  /// Returns one entry for each bucket, by number, what is around the step last; of one rank, or of
  /// all when `rank` is none. `layouts` tell the sizes of the buckets.
  [[nodiscard]] std::vector<HookBucket> buckets(const std::vector<trace::BucketsMessage>& layouts,
                                                std::optional<int> rank = std::nullopt) const;
  [[nodiscard]] HookStep step(const std::vector<trace::BucketsMessage>& layouts,
                              std::optional<int> rank = std::nullopt) const;
  /// Returns the longest call of a bucket, by one phase or, without, by all of it; null of none.
  [[nodiscard]] const HookCall* longest(std::uint16_t bucket, std::optional<HookPhase> phase,
                                        std::optional<int> rank) const;

 private:
  static constexpr std::size_t kAll = kHookPhases;  // stands for all phases of a call
  static constexpr std::size_t kPayload = kAll + 1;

  /// What a bucket is measured by: its phases, all of them, and the payload.
  struct Values {
    Values() { std::fill_n(figures.begin(), kPayload, growingDurations()); }

    std::array<SortedValues, kPayload + 1> figures;
  };
  struct OfBucket : Values {
    std::array<std::optional<HookCall>, kHookPhases + 1> longest;
  };
  struct OfRank {
    std::map<std::uint16_t, OfBucket> buckets;  // kNoBucket is the greatest
    SortedValues work, payload;                 // of its steps
  };
  /// The same of all ranks: SortedValues::join.
  struct OfAll {
    std::map<std::uint16_t, Values> buckets;
    SortedValues work, payload;
  };
  /// What has come of all ranks.
  struct Added {
    using Bucket = std::array<std::vector<double>, kPayload + 1>;
    std::map<std::uint16_t, Bucket> buckets;
    std::vector<double> work, payload;
  };

  /// `put` puts values of a rank into those that are here, and into those of all.
  template <typename Put>
  Added take(const HookTimes& times, const Put& put);
  void join(Added added);
  /// The values of a bucket, of the rank or of all.
  using OfRanks = std::map<std::uint16_t, std::vector<const Values*>>;
  static SortedValues::Lists listsOf(const std::vector<const Values*>& ranks, std::size_t figure);
  [[nodiscard]] OfRanks bucketsOf(std::optional<int> rank) const;
  [[nodiscard]] SortedValues::Lists stepsOf(std::optional<int> rank,
                                            SortedValues OfRank::*figure) const;
  /// Calls `take` with the rank, or with all.
  template <typename Take>
  void eachRank(std::optional<int> rank, const Take& take) const;

  std::map<int, OfRank> ranks_;
  OfAll all_;  // of several
  WarmUp warmUp_;
  std::size_t size_ = 0;
  std::uint32_t incompleteSteps_ = 0;
};

}  // namespace lockstep::analysis
