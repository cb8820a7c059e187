#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/analysis/GrowingSample.h"
#include "engine/analysis/Tail.h"

namespace lockstep::analysis {

// Note [Slow link]
// What no order of the buckets could hide (Note [Tail]) is there in most runs for a moment, and a
// thread that has no core makes every transfer longer. So it is said to cost, and what could help,
// only where its mean over the steps of a rank, less what any rank's step thread waited for a core
// in the step, and what a hypervisor may have taken of it, is beyond chance above kTellingShare of
// the mean step: the interval (BlockBootstrap.h) is of 99 % over all ranks together. It is a link's
// only where messages cross one, a shaped one or that between hosts; else it is the memory and the
// cores of the host that carry them.

inline constexpr double kTellingShare = 0.10;

struct StepOverlap;

/// What of a step on a rank it is judged by.
struct TransferOfStep {
  int rank = 0;
  std::uint32_t step = 0;
  bool incomplete = false;
  double stepMs = 0;
  double coreWaitMs = 0;  ///< of the step thread, with what a hypervisor may have taken of it
  double muchMs = 0;      ///< what no order of the buckets could hide
};

void appendTransfers(std::span<const StepOverlap> steps, std::vector<TransferOfStep>& to);

/// What it is judged by, step after step. A copy costs little.
class TransferSamples {
 public:
  /// Adds steps as all ranks have them, none of them among those that are here. Those before
  /// `firstMeasured` are left out, and so are incomplete ones.
  void add(std::span<const TransferOfStep> steps, std::uint32_t firstMeasured);
  void add(std::span<const StepOverlap> steps, std::uint32_t firstMeasured);
  /// Whether it costs beyond chance.
  [[nodiscard]] bool telling() const;

 private:
  struct OfRank {
    GrowingSample beyondMs;  // in the order of steps
    double stepMs = 0;
  };
  [[nodiscard]] bool isTelling(const OfRank& rank, cost::MeanIntervals& intervals) const;

  std::map<int, OfRank> ranks_;
};

/// Calls what is TailCause::kMuchTransfer telling, and by the name that toldTransfer() has for it.
void markTransfer(TailItem& item, TailCause told);
void markTransfers(std::span<StepOverlap> steps, TailCause told);

/// The longest that any rank's step thread waited for a core, of each step, in ms, with what a
/// hypervisor may have taken of it.
using LongestCoreWaits = std::map<std::uint32_t, double>;
LongestCoreWaits longestCoreWaits(const std::vector<StepOverlap>& steps);
LongestCoreWaits longestCoreWaits(const std::vector<const StepOverlap*>& steps);

}  // namespace lockstep::analysis
