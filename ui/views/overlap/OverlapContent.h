#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/analysis/Headroom.h"
#include "engine/analysis/SortedValues.h"
#include "engine/analysis/StepOverlap.h"
#include "engine/analysis/Tail.h"
#include "engine/run/Grown.h"
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
    std::size_t first = 0;                      ///< OverlapContent::row of its first step
    run::Grown<analysis::StepOverlap> steps{};  ///< by start; their numbers ascend
    run::Grown<OverlapParts> sums{};            ///< of the parts before each of them, and after all
    std::optional<analysis::RankOverlap> measured;  ///< after the warm-up
    std::optional<analysis::RankOverlap> all;       ///< with it; not of RankMedians::kMeasuredAlone
    std::vector<analysis::TailReason> reasons;

    /// The first of its steps whose number is at least this.
    [[nodiscard]] std::size_t firstFrom(std::uint64_t number) const;
    [[nodiscard]] std::uint32_t number(std::size_t step) const { return steps[step].times.step; }
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

  std::vector<Rank> ranks;          ///< by number; each has a step
  std::size_t rows = 0;             ///< the steps of all ranks, one rank after the other
  std::size_t incompleteSteps = 0;  ///< after the warm-up, each counted once for all ranks
  run::Grown<Spread> spreads;       ///< by step; of a run of many ranks, here and below
  double spreadMs = 1;              ///< the most of all measured ones
  std::vector<Example> examples;    ///< what is shown until somebody chooses
  std::vector<analysis::TailReason> reasons;  ///< over all ranks
  analysis::WarmUp warmUp;
  QString headline;    ///< what of the communication is hidden and what is exposed
  double scaleMs = 1;  ///< what fits into a bar's full height: most steps do
  std::uint32_t firstStep = 0;
  std::uint32_t lastStep = 0;

  [[nodiscard]] const Rank* rank(int number) const;
  [[nodiscard]] const analysis::StepOverlap& at(std::size_t row) const;
  /// The row of a step; none when the rank has not ended it.
  [[nodiscard]] std::optional<std::size_t> rowOf(int rank, std::uint32_t number) const;
  /// The first of the spreads that is of this step or a later one.
  [[nodiscard]] std::size_t firstSpreadFrom(std::uint64_t step) const;
  /// Null in a run of few, and where no rank has ended the step.
  [[nodiscard]] const Spread* spreadOf(std::uint32_t step) const;
  /// The causes over all ranks, or of one.
  [[nodiscard]] const std::vector<analysis::TailReason>& reasonsOf(std::optional<int> rank) const;
};

/// Takes a time that grows with the run: not for the UI thread. [any-thread]
std::shared_ptr<const OverlapContent> overlapContent(const AnalysedRun& run);
/// Which medians of a rank are found: those with the warm-up only cards and tables show.
enum class RankMedians : std::uint8_t { kBoth, kMeasuredAlone };
/// The same where rankStepOverlaps() of the run are there. [any-thread]
std::shared_ptr<const OverlapContent> overlapContent(
    const AnalysedRun& run, std::vector<std::vector<analysis::StepOverlap>> steps,
    RankMedians medians);

/// The same of a run that grows, for the price of what is new. [any-thread]
class GrowingOverlapContent {
 public:
  /// `run` goes on with that of the last call.
  std::shared_ptr<const OverlapContent> refresh(const AnalysedRun& run);

 private:
  friend std::shared_ptr<const OverlapContent> overlapContent(
      const AnalysedRun& run, std::vector<std::vector<analysis::StepOverlap>> steps,
      RankMedians medians);

  /// What is put together of steps. A copy costs little.
  struct Parts {
    Parts() = default;
    explicit Parts(const analysis::WarmUp& warmUp) : measured(warmUp.firstMeasured) {
      content.warmUp = warmUp;
    }

    OverlapContent content;
    analysis::TailSums reasons;
    std::map<int, analysis::TailSums> reasonsOf;
    analysis::HeadroomSamples measured, all;
    std::vector<double> lengths;  // of measured steps that are not in lengths_
    run::Grown<OverlapContent::Spread> spreads;
    double mostExposed = 0;  // of any rank in a measured step, or a first one

    void add(std::vector<analysis::StepOverlap> steps);
    /// The same of a rank each, of which no more will come: headroom is left out.
    void add(std::vector<std::vector<analysis::StepOverlap>> ranks);

   private:
    void put(std::vector<analysis::StepOverlap> steps,
             std::vector<const analysis::StepOverlap*>& added);
    void look(const std::vector<const analysis::StepOverlap*>& added);
    void addSpreads(const std::vector<const analysis::StepOverlap*>& steps);
  };

  static std::shared_ptr<const OverlapContent> finished(Parts parts,
                                                        const analysis::SortedValues& known,
                                                        const AnalysedRun& run,
                                                        std::optional<RankMedians> whole);

  std::mutex mutex_;
  analysis::GrowingOverlaps overlaps_;
  Parts closed_;
  analysis::SortedValues lengths_;  // of measured steps
};

}  // namespace lockstep::ui
