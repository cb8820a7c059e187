#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "engine/analysis/CollectiveTimes.h"
#include "engine/analysis/Intervals.h"
#include "engine/analysis/Lateness.h"
#include "engine/analysis/RunData.h"
#include "engine/analysis/StepTimes.h"
#include "engine/cost/Sample.h"
#include "engine/run/Grown.h"
#include "engine/run/GrownBy.h"

namespace lockstep::analysis {

/// The steps that medians leave out: allocations, first touches and the rebuild of the buckets
/// make them unlike the rest.
struct WarmUp {
  std::uint32_t firstMeasured = 1;  ///< every step before this one is left out
  std::string reason;               ///< a sentence
  bool operator==(const WarmUp&) const = default;
};

/// Medians over the measured steps of one rank: those after the warm-up in which no event was
/// dropped.
struct RankAnalysis {
  int rank = 0;
  std::uint32_t measuredSteps = 0;
  std::uint32_t incompleteSteps = 0;  ///< left out because events were dropped in them
  std::optional<double> stepMs;       ///< none: no step was measured
  std::optional<double> forwardMs;
  std::optional<double> backwardMs;
  std::optional<double> optimizerMs;
  double coreWaitMs = 0;                 ///< the step thread was ready and had no core, a step
  std::optional<double> overlapPercent;  ///< none: no communication, here and below
  /// What overlapPercent is at least and at most, wherever its waits for a core were.
  std::optional<double> overlapLeastPercent;
  std::optional<double> overlapMostPercent;
  std::optional<double> inFlightMs;
  std::optional<double> exposedMs;
  std::optional<double> waitingMs;  ///< for peers, a step; none also with a single rank
  std::optional<double> transferMs;
  std::optional<double> stepsPerSecond;  ///< measured steps over the sum of their durations
  /// Steps after the warm-up over the time from the first's start to the last's end, with what is
  /// between them: evaluation, checkpoints.
  std::optional<double> wallStepsPerSecond;
  std::uint32_t lastArrivals = 0;  ///< measured collectives in which it is known to be last
  double waitingCausedMs = 0;      ///< what others waited in those, in all
  bool operator==(const RankAnalysis&) const = default;
};

/// What the comparison of calls before their data moves took of the whole run, warm-up included:
/// that is when calls are compared. Sums over all ranks, of the calls that all have a record of.
struct CheckCost {
  std::uint64_t calls = 0;
  double ownMs = 0;       ///< after the last rank had come
  double waitingMs = 0;   ///< before; the calls would have waited in any case
  double ownPercent = 0;  ///< of the time of all steps, here and below
  double waitingPercent = 0;
  bool operator==(const CheckCost&) const = default;
};

/// A value and when it was had, in host ticks.
struct TickedValue {
  std::uint64_t ticks = 0;
  double value = 0;
  bool operator==(const TickedValue&) const = default;
};

/// Of a run that grows: all that belongs to steps below `next` stays as it is, as long as `anew`,
/// how often all was analysed anew, does.
struct ClosedSteps {
  std::uint32_t next = 0;
  int anew = 0;
  bool more = false;  ///< the run goes on
};

/// A copy costs little.
struct RunAnalysis {
  WarmUp warmUp;
  ClosedSteps closed;
  run::GrownBy<int, StepTicks> stepRows;                    ///< by rank, then start: steps()
  run::GrownBy<std::uint8_t, CollectiveTimes> collectives;  ///< by group, then sequence
  /// By step, of measured ones: what its collectives waited for their last ranks, all ranks
  /// together, in ticks; and the same of each rank that was the last.
  run::Grown<TickedValue> waits;
  std::map<int, run::Grown<TickedValue>> waitsFor;
  std::vector<RankAnalysis> ranks;

  // Over all ranks; where these differ, a median over them would be nobody's figure.
  std::optional<double> stepsPerSecond;      ///< of the slowest rank
  std::optional<double> wallStepsPerSecond;  ///< of the slowest rank
  std::optional<int> exposedRank;            ///< whose communication is exposed most
  std::optional<double> overlapPercent;      ///< its figure
  std::optional<double> exposedMs;           ///< its figure, a step
  std::vector<RankLateness> lateness;        ///< by rank; empty where it cannot be judged
  std::optional<int> lateRank;  ///< the latest of those that are late (Note [Lateness])
  double lateShare = 0;         ///< its part of all waiting, 0..1

  double nsPerTick = 1;
  double stolenShare = 0;  ///< of stolenPercent, 0..1

  /// The steps of all ranks, by rank, then start; made while they are read.
  [[nodiscard]] auto steps() const {
    return std::views::transform(
        stepRows, [this](const StepTicks& step) { return timesOf(step, nsPerTick, stolenShare); });
  }
  /// Whether a rank is late beyond chance and beyond its peers.
  [[nodiscard]] bool isLate(int rank) const;
  std::optional<CheckCost> checks;  ///< none: no call was compared, or no step is over
};

/// Calls `take` with each entry of the lists from step `first` on, list by list; the steps of each
/// ascend. What is before costs next to nothing.
template <typename Key, typename Row, typename Take>
void eachFrom(const run::GrownBy<Key, Row>& rows, std::uint32_t first, const Take& take) {
  for (const auto& [key, list] : rows.lists()) {
    const auto open = [first](const Row& row) { return row.step >= first; };
    for (std::size_t i = run::firstWhere(list, open); i < list.size(); ++i) {
      take(list[i]);
    }
  }
}

/// Returns what is warm-up in a run whose processes began with step `firstStep` (not 0 when it was
/// resumed): the steps up to and including the first that used rebuilt buckets, or one step
/// without a rebuild.
WarmUp warmUp(const std::vector<trace::BucketsMessage>& layouts, std::uint32_t firstStep = 0);

/// Analyses a run, or the part of a live one that has come so far. No result is NaN.
RunAnalysis analyse(const RunData& data);

/// A figure by time, without the warm-up.
enum class Course {
  kOverlapPercent,  ///< of steps of RunAnalysis::exposedRank, here and below
  kExposedMs,
  kWaitsMs,      ///< what collectives waited for their last rank, all ranks
  kLateWaitsMs,  ///< the same where that is RunAnalysis::lateRank
};
/// Returns its values within some ticks, by time; costs a binary search and what is returned.
std::vector<double> courseOf(const RunAnalysis& run, Course course, const Interval& within);

using cost::median;

}  // namespace lockstep::analysis
