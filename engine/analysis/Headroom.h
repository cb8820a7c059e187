#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/analysis/GrowingSample.h"
#include "engine/analysis/SortedValues.h"
#include "engine/analysis/StepOverlap.h"
#include "engine/cost/BlockBootstrap.h"

namespace lockstep::analysis {

// Note [Headroom]
// With forward f, backward b (both: computing only) and data on its way c, a step without any
// overlap takes f + b + c beside its rest, and overlap can hide min(b, c) of it: the headroom,
// less than half of the three. Of that a part is hidden already. Less exposed transfer than none is
// not to be had: the step less all of it is the noop bound. Waiting is in the bound: a rank that
// others wait for sets the pace of all, whatever a transfer takes, and who has no core would have
// none without communication either. Where waiting and transfer cannot be told apart, both count as
// transfer. By PyTorch's rule of thumb communication is not the bottleneck where the bound is less
// than 10 % faster. It is one, or is none, only where chance (the interval of the mean, 99 % over
// all ranks), what the ranks waited for cores, which makes transfers longer and hides them, and a
// quarter of it, by which runs of one experiment differ, leave no doubt.

/// Medians over steps of one rank.
struct RankOverlap {
  int rank = 0;
  std::uint32_t steps = 0;
  double stepMs = 0;
  double forwardMs = 0;  ///< whole phases, waits included, as StepTimes has them
  double backwardMs = 0;
  double optimizerMs = 0;
  std::optional<double> overlapPercent;  ///< none: nothing was in flight, here and below
  std::optional<double> inFlightMs;
  std::optional<double> exposedMs;
  std::optional<double> waitingMs;        ///< exposed
  std::optional<double> transferMs;       ///< exposed
  double idleMs = 0;                      ///< StepOverlap::idleMs
  double noopMs = 0;                      ///< the step less its exposed transfer
  double noopFasterPercent = 0;           ///< 100 * (stepMs / noopMs - 1)
  std::optional<bool> bottleneck;         ///< whether transfer is one; none: it cannot be told
  double coreWaitMs = 0;                  ///< the longest of any rank in a step
  std::optional<double> headroomMs;       ///< min(b, c); none where c is unknown, here and below
  std::optional<double> headroomPercent;  ///< 100 * min(b, c) / (f + b + c)
  std::optional<double> hiddenMs;         ///< of c
  std::optional<double> perfectMs;        ///< the step if all of the headroom were hidden
  bool operator==(const RankOverlap&) const = default;
};

/// The steps of all ranks, as they come. A copy costs little.
class HeadroomSamples {
 public:
  /// Steps before it are left out, and so are those in which events were dropped.
  explicit HeadroomSamples(std::uint32_t firstStep = 0) : firstStep_(firstStep) {}

  /// Adds steps as all ranks have them, none of them among those that are here.
  void add(const std::vector<StepOverlap>& steps);
  /// Sorts in what was added: copies that are made then have nothing to copy.
  void settle();
  /// What medians() returns of these steps, where no others follow: of many ranks it takes a part
  /// of the memory, and half of the time.
  static std::vector<RankOverlap> ofAll(const std::vector<const StepOverlap*>& steps,
                                        std::uint32_t firstStep);
  /// Returns one entry a rank that has a step. Whether communication is a bottleneck is judged anew
  /// when there are an eighth more steps than when this or a copy judged it last.
  [[nodiscard]] std::vector<RankOverlap> medians() const;

 private:
  enum Figure : std::size_t {
    kStep,
    kForward,
    kBackward,
    kOptimizer,
    kIdle,
    kNoop,
    kCoreWait,
    kOverlapPercent,
    kInFlight,
    kExposed,
    kWaiting,
    kTransfer,
    kHeadroom,
    kHeadroomPercent,
    kHidden,
    kPerfect,
    kFigures
  };
  struct OfRank {
    std::uint32_t steps = 0;
    GrowingMedians<kFigures> medians;
    // Exposed transfer beyond what makes it a bottleneck, in the order of steps.
    GrowingSample surely, atMost;
  };
  struct Verdict {
    std::uint32_t steps = 0;  // that it was judged by
    std::optional<bool> bottleneck;
  };

  static void add(const StepOverlap& of, double coreWaitMs, OfRank& rank);
  /// `ranks`: how many there are.
  static std::optional<bool> isBottleneck(const OfRank& rank, std::size_t ranks,
                                          cost::MeanIntervals& intervals);
  static RankOverlap overlapOf(int number, const OfRank& rank);
  std::optional<bool> bottleneckOf(int number, const OfRank& rank,
                                   cost::MeanIntervals& intervals) const;

  std::uint32_t firstStep_;
  std::map<int, OfRank> ranks_;
  std::shared_ptr<std::map<int, Verdict>> verdicts_ = std::make_shared<std::map<int, Verdict>>();
};

/// Returns HeadroomSamples::ofAll.
std::vector<RankOverlap> rankOverlaps(const std::vector<StepOverlap>& steps,
                                      std::uint32_t firstStep);

}  // namespace lockstep::analysis
