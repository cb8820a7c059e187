#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/analysis/CollectiveTimes.h"
#include "engine/analysis/GrowingSample.h"
#include "engine/analysis/StepTimes.h"
#include "engine/cost/BlockBootstrap.h"

namespace lockstep::analysis {

// Note [Lateness]
// Of ranks that do the same, one comes last to each collective, and by chance one of them more
// often than the others. So "last" is a fact of a collective, and "late" a verdict on a run:
//   - a rank's lateness in a step is the time in which a collective's first rank had come and it
//     had not, of several collectives together once, less what its step thread waited for a core
//     in the step: a rank that is kept from its core is not slow. The backward goes on while its
//     buckets are reduced, so that one delay makes a rank late to every bucket that follows: of
//     the buckets the one counts to which it came latest. Other collectives are waited for as they
//     are called, and what a rank is late to each adds up;
//   - against its peers: that less the mean of the other ranks' in the same step;
//   - beyond chance: the interval of its mean over the steps (BlockBootstrap.h), of 99 % over all
//     ranks of the run together, lies above kLateShare of the mean step, and above kLateMs;
//   - beyond the cores: it lies above kCoreWaits times the mean of the longest wait for a core of
//     any rank in a step too. Other threads wait as a step thread does, those that communicate
//     among them, of which the kernel is not asked; and where threads share a core, which ones do
//     may stay the same for a whole run, so that one of two equal ranks is always the later one.
//     What a hypervisor takes of a core counts as such a wait: the kernel does not say of which
//     thread it was taken.
// A step in which a rank has no record of a collective is left out, and so is a collective of which
// the hosts' clocks cannot tell who was last.

inline constexpr double kLateShare = 0.03;
inline constexpr double kLateMs = 0.25;
inline constexpr double kCoreWaits = 3;

/// How much later than its peers a rank comes to the collectives of a step.
struct RankLateness {
  int rank = 0;
  double meanMs = 0;  ///< a step, against the mean of the others; below 0: earlier
  std::optional<cost::MeanInterval> interval =
      std::nullopt;   ///< where it lies; of those that may be late
  bool late = false;  ///< beyond chance and beyond its peers
  bool operator==(const RankLateness&) const = default;
};

/// What it is judged by, step after step. A copy costs little.
class LatenessSamples {
 public:
  /// Steps before it are left out, and so are incomplete ones.
  explicit LatenessSamples(std::uint32_t firstMeasured = 0) : firstMeasured_(firstMeasured) {}

  /// Adds steps as all ranks have them, none of them among those that are here. `collectives` are
  /// theirs, of two ranks or more.
  void add(const std::vector<StepTicks>& steps, const std::vector<CollectiveTimes>& collectives);
  /// Returns one entry a rank, by rank; none where fewer than two ranks or than
  /// kFewestForBootstrap steps can be judged. `stolenShare`: of stolenPercent, 0..1.
  [[nodiscard]] std::vector<RankLateness> judge(double nsPerTick, double stolenShare) const;

 private:
  std::uint32_t firstMeasured_;
  std::map<int, GrowingSample> ranks_;  // ticks against its peers, in the order of steps
  // Of the steps that all ranks have whole:
  std::size_t steps_ = 0;
  std::size_t stepsOfRanks_ = 0;
  std::uint64_t ticks_ = 0;  // of all ranks
  double longestWaits_ = 0;  // for a core, of any rank in each, in ticks
};

}  // namespace lockstep::analysis
