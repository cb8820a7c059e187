#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/analysis/Headroom.h"
#include "engine/analysis/StepOverlap.h"
#include "engine/analysis/Tail.h"
#include "ui/model/RunAnalyser.h"

namespace lockstep::ui {

/// The parts of a step in the order in which a bar stacks them, from the bottom: what lies below
/// the transfer is the noop bound (Note [Headroom]).
enum class OverlapPart : std::uint8_t {
  kAlone,
  kOverlapped,
  kOther,
  kNoCore,  ///< exposed, here and below
  kWaiting,
  kTransfer,
  kUndivided,
};
inline constexpr int kOverlapParts = 7;
using OverlapParts = std::array<double, kOverlapParts>;  ///< ms by OverlapPart

/// Returns the parts of one step.
OverlapParts partsOf(const analysis::StepOverlap& step);

/// What the overlap view shows of a run; never changed once made, so any thread may read it.
struct OverlapContent {
  /// The steps of one rank.
  struct Rank {
    int rank = 0;
    std::size_t first = 0;  ///< of its entries in `steps`
    std::size_t count = 0;
    std::vector<std::uint32_t> numbers;  ///< its step numbers, ascending
    std::vector<OverlapParts> sums;      ///< of the parts before each of its steps, and after all
    std::optional<analysis::RankOverlap> measured;  ///< after the warm-up
    std::optional<analysis::RankOverlap> all;       ///< with it
    std::vector<analysis::TailReason> reasons;
  };

  /// What is exposed of a step, over all ranks, in ms.
  struct Spread {
    std::uint32_t step = 0;
    double least = 0;
    double quarter = 0;  ///< a quarter of the ranks have less
    double half = 0;
    double threeQuarters = 0;
    double most = 0;
    int worst = 0;  ///< the rank with the most
  };
  /// A rank that stands for others in a run of many.
  struct Example {
    int rank = 0;
    const char* why = "";  ///< "late", "most exposed", "middle rank", ...
  };

  std::vector<analysis::StepOverlap> steps;  ///< by rank, then start
  std::vector<Rank> ranks;
  std::vector<Spread> spreads;                ///< by step; of a run of many ranks, here and below
  double spreadMs = 1;                        ///< the most of all measured ones
  std::vector<Example> examples;              ///< what is shown until somebody chooses
  std::vector<analysis::TailReason> reasons;  ///< over all ranks
  analysis::WarmUp warmUp;
  std::optional<double> overlapPercent;  ///< as RunAnalysis has them
  std::optional<double> exposedMs;
  std::size_t incompleteSteps = 0;  ///< left out of the measured ones
  double scaleMs = 1;               ///< what fits into a bar's full height: most steps do
  std::uint32_t firstStep = 0;
  std::uint32_t lastStep = 0;

  [[nodiscard]] const Rank* rank(int number) const;
  /// Null in a run of few, and where no rank has ended the step.
  [[nodiscard]] const Spread* spreadOf(std::uint32_t step) const;
  /// The entry of a step; null when the rank has not ended it.
  [[nodiscard]] const analysis::StepOverlap* step(int rank, std::uint32_t number) const;
  /// The causes over all ranks, or of one.
  [[nodiscard]] const std::vector<analysis::TailReason>& reasonsOf(std::optional<int> rank) const;
};

/// How many iterations from `first` on are left out because a rank dropped events in them.
std::size_t incompleteSteps(const std::vector<analysis::StepOverlap>& steps, std::uint32_t first);

/// Takes a time that grows with the run: not for the UI thread. [any-thread]
std::shared_ptr<const OverlapContent> overlapContent(const AnalysedRun& run);

}  // namespace lockstep::ui
