#pragma once

#include <cstddef>
#include <vector>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RankFlights.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"
#include "engine/analysis/SpansByRank.h"
#include "engine/analysis/StepOverlap.h"

namespace lockstep::analysis {

/// The steps of a rank, and what is found on the way to them.
struct DividedRank {
  /// By start. What needs all transfers of the run to tell them apart, which link is slow, these do
  /// not say: toldTransfer().
  std::vector<StepOverlap> steps;
  Intervals computing;
};

/// Divides the steps of a run, one rank after the other: what is made of a rank's spans on the way
/// is there of no more ranks than threads. The run and its analysis outlive it. [any-thread]
class RankDivision {
 public:
  RankDivision(const RunData& data, const RunAnalysis& run);

  /// Those that have spans, and where they stand.
  [[nodiscard]] const SpansByRank& ranks() const { return spans_; }
  /// Where the steps of each rank begin in a list of all, by place, and how long it is.
  [[nodiscard]] std::vector<std::size_t> firstSteps() const;

  /// One way through the ranks, or some of them. One thread at a time.
  class Walk {
   public:
    explicit Walk(const RankDivision& division) : division_(division), flights_(division.run_) {}
    /// `place`, of ranks(), ascends from call to call.
    DividedRank at(std::size_t place);

   private:
    const RankDivision& division_;
    FlightsByRank flights_;
  };

 private:
  /// Null: it has not ended one.
  [[nodiscard]] const run::Grown<StepTicks>* stepsOf(int rank) const;

  const RunData& data_;
  const RunAnalysis& run_;
  SpansByRank spans_;
  MomentsByRank moments_;
};

}  // namespace lockstep::analysis
