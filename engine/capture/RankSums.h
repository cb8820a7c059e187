#pragma once

#include <cstdint>
#include <optional>

#include "engine/analysis/RankActivity.h"
#include "engine/analysis/StepTimes.h"
#include "engine/trace/RunFile.h"

namespace lockstep::capture {

/// Sums up the steps of one rank, by the rules of the analysis (analysis/RankActivity.h), while all
/// of their spans are at hand.
class RankSums {
 public:
  explicit RankSums(int rank) : rank_(rank) {}

  void add(const trace::Event& event, double nsPerTick);

  /// A step that has ended.
  struct Summed {
    trace::StepSumsRow row;
    std::uint64_t durationTicks = 0;
  };
  /// Returns what `step` comes to and forgets it, and those before it; none where the rank has not
  /// ended it.
  std::optional<Summed> take(std::uint32_t step);

 private:
  int rank_;
  analysis::ActivityPieces activity_;
  analysis::StepPieces steps_;
};

}  // namespace lockstep::capture
