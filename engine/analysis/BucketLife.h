#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/ReadyOrder.h"
#include "engine/trace/ClockDoubt.h"

namespace lockstep::analysis {

// Note [What a bucket waits for]
// A bucket fills until its last gradient is there: then it is ready. It is launched once every
// bucket before it has been, whichever became ready first: until then it is stalled behind the
// earlier bucket that became ready last. Its communication begins when the backend takes it up,
// perhaps behind the communication of another bucket, and moves data once all ranks have come.

/// A bucket's stage at a moment of a step, on one rank.
enum class BucketStage : std::uint8_t {
  kEmpty,     ///< no gradient yet
  kFilling,   ///< some
  kReady,     ///< all, and not launched
  kLaunched,  ///< handed to the hook, its communication not begun
  kInFlight,
  kDone,
};

/// What one rank did with one bucket in one step. A moment that was not recorded is missing.
struct BucketTimes {
  int rank = 0;
  std::optional<std::uint64_t> firstGradientTicks;
  std::optional<std::uint64_t> lastGradientTicks;
  std::optional<std::uint32_t> lastParameter;  ///< the one it waited for
  std::optional<std::uint64_t> readyTicks;
  std::optional<std::uint64_t> launchedTicks;
  std::optional<std::uint64_t> beganTicks;  ///< this rank came to its first collective or check
  std::optional<std::uint64_t> endedTicks;  ///< of its last collective or modelled link
  /// When the backend was done, where a modelled link goes on after it.
  std::optional<std::uint64_t> backendEndedTicks;
  std::optional<std::uint64_t> copyOutTicks;
  std::optional<std::uint64_t> copiedOutTicks;  ///< the end of the copy-out
  std::optional<std::uint16_t> stalledBehind;   ///< in-order launch
  std::optional<std::uint16_t> queuedBehind;    ///< whose communication held this one up
  std::int64_t readySpan = -1;                  ///< SpanRow::id, here and below
  std::int64_t launchedSpan = -1;
  std::int64_t collectiveSpan = -1;
  std::int64_t copyOutSpan = -1;

  [[nodiscard]] BucketStage stageAt(std::uint64_t ticks) const;
  /// From ready to launched, when an earlier bucket was why; else 0.
  [[nodiscard]] std::uint64_t stallTicks() const;
};

/// What tells the order of ranks' times.
struct RankClocks {
  trace::ClockDoubt doubt;
  double nsPerTick = 1;
};

struct BucketLife {
  std::vector<BucketTimes> ranks;  ///< in the order of the ranks given
  /// When the last rank came to the bucket's first collective, and who it was; none: a rank's
  /// record is missing, or that collective was not one of all ranks. Who it was is not known either
  /// where ranks of different hosts came within the doubt of their clocks.
  std::optional<std::uint64_t> metTicks;
  std::optional<int> lastRank;
};

/// Returns the lives of `layout`'s buckets in `step`, by bucket. `orders` is readyOrders() of the
/// same. [any-thread]
std::vector<BucketLife> bucketLives(const std::vector<RankSpans>& ranks, std::uint32_t step,
                                    const trace::BucketsMessage& layout,
                                    const std::vector<ReadyOrder>& orders,
                                    const RankClocks& clocks = {});

/// What a gradient waited for until its bucket was launched.
struct GradientWait {
  std::uint64_t ticks = 0;                    ///< from its being ready to the launch
  std::optional<std::uint32_t> forParameter;  ///< the bucket's last; none: it is that itself
  std::optional<std::uint16_t> forBucket;     ///< then that earlier bucket
};
/// Returns nothing for a bucket whose launch is not known.
std::optional<GradientWait> waitOf(const ReadyGradient& gradient, const BucketTimes& bucket);

/// Something that happens in the replay of a step.
struct ReplayMoment {
  enum class What : std::uint8_t { kGradient, kReady, kLaunched, kBegan, kEnded };
  std::uint64_t ticks = 0;
  What what{};
  int rank = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint32_t parameter = 0;  ///< of kGradient
};
/// Returns all that happens, by time.
std::vector<ReplayMoment> replayMoments(const std::vector<ReadyOrder>& orders,
                                        const std::vector<BucketLife>& lives);

}  // namespace lockstep::analysis
