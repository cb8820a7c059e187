#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

// Note [Tail]
// The exposed time of a step (Note [Overlap]) is given away moment by moment, so that its causes
// add up to it. Where its step thread was ready and had no core, it would have computed: that is
// "no core", and nobody's fault in the communication. Of several collectives in flight the one that
// this rank came to first has the moment: before its last rank came it is that rank's, afterwards
// the transfer's. A transfer's exposed time is then divided, bucket by bucket in the order in which
// they became ready:
//   in-order stall   as long as the bucket stood ready and its collective had not begun, where an
//                    earlier one became ready after it and had to go first;
//   much transfer    what no order could have hidden, as long as any is left in this step: the
//                    step's transfers less the computing of its backward; a slow link where the
//                    run shows that it is one (Note [Slow link]);
//   last rank        what was waited for the last rank, hidden or not: without it the transfer
//                    would have begun, and ended, that much earlier;
//   late bucket      the rest: too little computing was left when its last gradient was ready.
// What is the last rank's is "no core" as far as its own step thread had none in that step, "late
// rank" where the run shows that it is late (Note [Lateness]), and else "uneven ranks": one of them
// is always last.
// Where several collectives are under way at once, each has of its time from the last arrival to
// its end only what none that began before it has as its transfer: the rest of that is queue.

enum class TailCause : std::uint8_t {
  kLateBucket,
  kInOrderStall,
  kMuchTransfer,
  kSlowLink,
  kLateRank,
  kUnevenRanks,
  kNoCore,          ///< a step thread was ready and had no core: this rank's, or the last one's
  kOutsideBuckets,  ///< a collective of no bucket: buffers, batch statistics, a hook around a step
  kCopies,          ///< DataParallel's, between its devices
  kUnknown,         ///< a send, a receive, or one that a rank has no record of
};

/// Stands for the rank that came last where the clocks of several hosts cannot tell which did.
inline constexpr int kUnclearRank = -1;

/// A time that may be unknown, in half of the room that an optional takes.
class MaybeMs {
 public:
  MaybeMs() = default;
  MaybeMs(std::optional<double> ms) : ms_(ms.value_or(std::numeric_limits<double>::quiet_NaN())) {}

  [[nodiscard]] bool known() const { return !std::isnan(ms_); }
  [[nodiscard]] std::optional<double> ms() const {
    return known() ? std::optional(ms_) : std::nullopt;
  }
  bool operator==(const MaybeMs& other) const { return ms() == other.ms(); }

 private:
  double ms_ = std::numeric_limits<double>::quiet_NaN();
};

/// One part of the exposed time of one rank's step. Small ones first: of a long run of many ranks
/// there are a million of these.
struct TailItem {
  TailCause cause = TailCause::kUnknown;
  bool severalBuckets = false;  ///< a mean over more than `bucket`
  bool telling = false;  ///< much transfer: it costs beyond chance, whatever cores were missing
  bool judged = true;    ///< uneven ranks: false where steps are too few to tell chance
  trace::Operation operation = trace::Operation::kNone;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint16_t ahead = trace::kNoBucket;  ///< stall: the bucket that it stood behind
  int rank = 0;
  std::uint32_t step = 0;
  int peer = kUnclearRank;  ///< late rank, uneven ranks, no core: who came last
  double ms = 0;
  /// Late bucket: the backward's computing from when it was ready until it was reduced. Stall: from
  /// ready to launch. Much transfer: computing of the backward. Late rank, uneven ranks: what this
  /// rank waited in all, hidden or not. No core: how long the thread had none in the step.
  double contextMs = 0;
  double wholeMs = 0;  ///< late bucket: from when it was ready until it was reduced
  double queueMs = 0;  ///< late bucket: of that, behind buckets that began before it
  /// Of the bucket, hidden or not; much transfer: of all collectives of the step.
  double transferMs = 0;
  /// Much transfer, as all of this here of a slow link: how many collectives these are, and what of
  /// their transfers does not depend on their bytes; unknown where their sizes are too much alike
  /// to tell.
  double calls = 0;
  MaybeMs latencyMs;
  /// Much transfer: what the step thread of this rank waited for a core in the step.
  double coreWaitMs = 0;
  /// Late rank: how much later than on `rank` the bucket was ready there; unknown: not recorded.
  MaybeMs readyLaterMs;
  std::uint64_t ticks = 0;  ///< a moment in the collective that it is about; 0: in none
  bool operator==(const TailItem&) const = default;
};

/// One cause over many steps.
struct TailReason {
  TailItem mean;            ///< ms a step; all other times: where it struck
  TailItem worst;           ///< the largest part
  double share = 0;         ///< of all exposed time, 0..1
  std::uint32_t steps = 0;  ///< of any rank, in which it struck
  bool operator==(const TailReason&) const = default;
};

struct StepOverlap;

/// Causes of exposed time, step after step. A copy costs as much as there are causes.
class TailSums {
 public:
  /// Adds steps as all ranks have them, or those of one rank; by rank, and none of them among those
  /// that are here. Those before `firstMeasured` are left out, and incomplete ones.
  void add(std::span<const StepOverlap> steps, std::uint32_t firstMeasured);
  void add(std::span<const StepOverlap* const> steps, std::uint32_t firstMeasured);
  /// Returns the causes, the largest first; their ms add up to the mean of the exposed time over
  /// the steps with communication.
  [[nodiscard]] std::vector<TailReason> reasons() const;

 private:
  using Key = std::tuple<TailCause, std::uint16_t, int, trace::Operation>;
  /// The mean of what not every part has.
  struct OptionalMean {
    double sum = 0;
    std::uint32_t parts = 0;

    void add(const std::optional<double>& value);
    [[nodiscard]] std::optional<double> mean() const;
  };
  struct Sum {
    TailReason reason;
    std::uint32_t parts = 0;
    OptionalMean readyLater;
    OptionalMean latency;
    std::uint32_t lastStep = 0;
    bool severalBuckets = false;

    void add(const TailItem& item);
    [[nodiscard]] TailReason finish(double totalMs, std::uint32_t measured) const;
  };
  static Key keyOf(const TailItem& item);

  std::map<Key, Sum> sums_;
  std::uint32_t measured_ = 0;
  double totalMs_ = 0;
};

/// Returns those of one rank; `steps` are by rank.
std::span<const StepOverlap> ofRank(std::span<const StepOverlap> steps, int rank);

/// Returns the TailSums of all steps, which are by rank. `rank`: of that one only.
std::vector<TailReason> tailReasons(std::span<const StepOverlap> steps, std::uint32_t firstMeasured,
                                    std::optional<int> rank = std::nullopt);

/// Returns "late bucket", "in-order stall", "slow link", "late rank", ...
std::string_view name(TailCause cause);

/// Returns a cause and what it is about: "late bucket 5", "bucket 3 behind bucket 2", "late rank
/// 1".
std::string title(const TailItem& item);

/// Returns a sentence that says why.
std::string explanation(const TailItem& item);

/// What a cause finds fault with: "rank", "link", "setting"; empty: it tells how the time went, no
/// more.
std::string_view accused(const TailItem& item);

}  // namespace lockstep::analysis
