#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/Divergence.h"
#include "engine/analysis/RunAnalysis.h"

namespace lockstep::analysis {

// Note [Landscape]
// A run of many ranks is looked at as a table of rank by iteration, a figure at a time, so that the
// rank that is not like the others is seen among a thousand. All figures of a cell are those of one
// step of one rank; an iteration that a rank has not whole is unknown there. Of a long run a column
// stands for several iterations, with the largest value of them: an outlier is never averaged away,
// and the table stays below ranks x kMostColumns whatever the run's length.

/// What a step of a rank is looked at for; ms, unless it says otherwise.
enum class RankFigure : std::uint8_t {
  kStep,       ///< from its start to its end
  kComputing,  ///< of that, the rank computed (Note [Overlap])
  kExposed,    ///< communication in flight while it did not compute
  kTransfer,   ///< of its collectives, from when all ranks had come until it was done
  kLate,       ///< it came after the first rank (Note [Lateness], without the cores' part)
  kCaused,     ///< what all others waited in collectives to which it came last
  kDiffering,  ///< how many of its parameters are not those of the majority; where sampled
  kMemory,     ///< MiB resident; whoever holds the counters adds it
};
inline constexpr std::size_t kRankFigures = 8;

/// Steps, `end` not included.
struct StepRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  [[nodiscard]] bool contains(std::uint32_t step) const { return step >= first && step < end; }
};

/// Rank by iteration. A copy is a copy of all of it.
struct Landscape {
  static constexpr std::size_t kMostColumns = 512;

  std::vector<int> ranks;  ///< sorted; "rank index" below is a place in it
  StepRange steps;
  std::uint32_t stepsAColumn = 1;
  std::size_t columns = 0;
  /// By figure: rank index x column; NaN: unknown. Empty: the run knows nothing of it.
  std::array<std::vector<float>, kRankFigures> values;

  [[nodiscard]] bool has(RankFigure figure) const {
    return !values[static_cast<std::size_t>(figure)].empty();
  }
  [[nodiscard]] float at(RankFigure figure, std::size_t rankIndex, std::size_t column) const {
    return values[static_cast<std::size_t>(figure)][rankIndex * columns + column];
  }
  [[nodiscard]] std::optional<std::size_t> indexOf(int rank) const;
  /// The column of a step; none: it is not among those that this is of.
  [[nodiscard]] std::optional<std::size_t> columnOf(std::uint32_t step) const;
  /// Takes a value of a step: of a column it keeps the largest. What is not in it is left out.
  void add(RankFigure figure, std::size_t rankIndex, std::uint32_t step, float value);
};

/// All steps that a run has recorded.
StepRange allSteps(const RunAnalysis& run);

/// Returns the landscape of these steps in at most kMostColumns columns. `replicas`: of the same
/// run, where they were compared. Costs one pass over steps and arrivals; no file is read.
Landscape landscape(const RunAnalysis& run, const StepRange& steps,
                    const ReplicaMatrix* replicas = nullptr);

}  // namespace lockstep::analysis
