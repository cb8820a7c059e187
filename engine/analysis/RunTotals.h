#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/SortedValues.h"

namespace lockstep::analysis {

/// Some steps as all ranks have them, and the calls that belong to them.
struct StepStretch {
  std::vector<StepTicks> steps;              ///< by rank, then start
  std::vector<CollectiveTimes> collectives;  ///< by group, then sequence
  std::vector<CollectiveTimes> checks;

  /// Takes the steps below `next` out, with their calls.
  StepStretch takeBelow(std::uint32_t next);
};

// Note [Figures of a run that grows]
// A figure over all steps is made of sums of ticks, which are whole numbers, of values in the order
// of steps, and of medians, which know no order: so it is the same to the last bit whether steps
// came one by one or all at once, and a better calibration of the clock only changes the factor at
// its end.

/// Sums, values and rows of the steps of a run so far. A copy costs little: what both have is
/// shared, and only what the copy adds is its own.
class RunTotals {
 public:
  explicit RunTotals(std::uint32_t firstMeasured)
      : firstMeasured_(firstMeasured), lateness_(firstMeasured) {}

  [[nodiscard]] std::uint32_t firstMeasured() const { return firstMeasured_; }
  /// Adds steps that follow those that are here.
  void add(StepStretch stretch);
  /// Sorts the values in of what was added: copies that are made then have nothing to copy.
  void settle();
  /// The analysis of all that is here; the rows go into it.
  [[nodiscard]] RunAnalysis figures(WarmUp warmUp, const base::ClockCalibration& clock,
                                    double stolenShare) &&;

 private:
  /// Of what a rank has medians.
  enum Figure : std::size_t {
    kStep,
    kForward,
    kBackward,
    kOptimizer,
    kCoreWait,
    kOverlap,
    kOverlapLeast,
    kOverlapMost,
    kInFlight,
    kExposed,
    kWaiting,
    kTransfer,
    kFigures
  };
  struct OfRank {
    GrowingMedians<kFigures> medians;
    std::uint32_t measured = 0;
    std::uint32_t incomplete = 0;
    std::uint64_t ticks = 0;                       // of the measured steps
    std::uint64_t beginTicks = ~std::uint64_t{0};  // of the first after the warm-up
    std::uint64_t endTicks = 0;                    // of the last
    std::uint32_t lastArrivals = 0;
    std::uint64_t waitingCaused = 0;
  };
  struct Checks {
    std::uint64_t calls = 0;
    std::uint64_t own = 0;
    std::uint64_t waiting = 0;
  };

  void addSteps(const StepStretch& stretch, const std::vector<CollectiveTimes>& sampled);
  void addWaits(const std::vector<CollectiveTimes>& collectives);
  [[nodiscard]] RankAnalysis figuresOf(int number, const OfRank& rank,
                                       const base::ClockCalibration& clock) const;
  [[nodiscard]] std::optional<CheckCost> costOfChecks(double nsPerTick) const;

  std::uint32_t firstMeasured_;
  std::map<int, OfRank> ranks_;
  LatenessSamples lateness_;
  Checks checks_;
  std::uint64_t stepTicks_ = 0;     // of all steps of all ranks
  std::uint64_t waitingTicks_ = 0;  // in collectives of measured steps
  run::GrownBy<int, StepTicks> steps_;
  run::GrownBy<std::uint8_t, CollectiveTimes> collectives_;
  run::Grown<TickedValue> waits_;
  std::map<int, run::Grown<TickedValue>> waitsFor_;
};

}  // namespace lockstep::analysis
