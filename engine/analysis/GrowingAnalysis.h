#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "engine/analysis/NewSpans.h"
#include "engine/analysis/RunTotals.h"

namespace lockstep::analysis {

// Note [A run that grows]
// Steps that are over on all ranks, and long enough for all their spans to have come, are closed:
// they are added to the totals, and what they were made of is forgotten. An analysis then costs
// what came since the last one, and the steps that are still open.
//
// What is closed stays right only while nothing comes that belongs to it. So each span is compared
// with what was forgotten; where one comes too late, or the warm-up, the doubt of the clocks or the
// ranks of a group turn out to be others, all is analysed anew. After spans that came late, steps
// stay open for twice as long. A rank that has been silent while others went on for a minute is
// waited for no more.

/// The analysis of a run that grows. One thread at a time.
class GrowingAnalysis {
 public:
  GrowingAnalysis();

  /// Returns what analyse() does, to the last bit. `data` holds what that of the last call did, and
  /// more. `more`: another call may follow; without it nothing is closed.
  RunAnalysis refresh(const RunData& data, bool more = true);

  /// How many times all was analysed anew.
  [[nodiscard]] int restarts() const { return restarts_; }

 private:
  struct OfRank {
    ActivityPieces activity;
    StepPieces steps;
    std::uint64_t latestEnd = 0;  // of its steps
  };
  /// What the analysis of a rank in ticks depends on besides its spans.
  struct Clocks {
    double nsPerTick = 1;
    trace::ClockDoubt doubt;
    bool operator==(const Clocks&) const = default;
  };

  std::optional<RunAnalysis> goOn(const RunData& data, bool more);
  [[nodiscard]] static Clocks clocksOf(const RunData& data);
  bool take(const RunData& data);
  void takeSpan(OfRank& rank, int number, const trace::SpanRow& span);
  StepStretch gather(const RunData& data);
  static StepStretch gatherAll(const RunData& data, double nsPerTick);
  [[nodiscard]] std::uint32_t firstOpen(const StepStretch& open, double nsPerTick) const;
  void close(StepStretch& open, std::uint32_t next);

  std::map<int, OfRank> ranks_;
  CollectiveSpans calls_;
  CollectiveSpans checks_;
  std::optional<RunTotals> closed_;
  Clocks clocks_;
  std::uint32_t next_ = 0;  // the steps below it are closed
  std::optional<std::uint32_t> firstStep_;
  NewSpans spans_;
  std::size_t sums_ = 0;  // that were taken
  bool late_ = false;     // a span or a step's sums belong to what is closed
  double openNs_ = 2e9;   // for so long after its end a step stays open
  int restarts_ = 0;
};

}  // namespace lockstep::analysis
