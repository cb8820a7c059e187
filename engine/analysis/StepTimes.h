#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RankActivity.h"
#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

/// One training step of one rank; its overlap by Note [Overlap] in RankActivity.h.
struct StepTimes {
  int rank = 0;
  std::uint32_t step = 0;
  std::uint64_t startTicks = 0;
  std::uint64_t endTicks = 0;
  double stepMs = 0;
  double forwardMs = 0;
  double backwardMs = 0;
  double optimizerMs = 0;
  double inFlightMs = 0;
  double computingMs = 0;
  double overlapMs = 0;
  double exposedMs = 0;
  double offCoreMs = 0;       ///< of its work: ready, and without a core
  double coreWaitMs = 0;      ///< ready and without a core in the whole step
  double stolenMs = 0;        ///< a hypervisor may have taken of it, at the mean of the whole run
  double overlapLeastMs = 0;  ///< OverlapBounds: where its waits for a core are not known to the
  double overlapMostMs = 0;   ///< moment, overlapMs is one of what it may be
  std::optional<double> overlapPercent;  ///< none: nothing was in flight
  bool incomplete = false;               ///< events of this rank were dropped in this step
  /// How much of it the run holds: below kWhole all of this is what the recorder summed up.
  trace::KeptDetail kept = trace::KeptDetail::kWhole;
  bool operator==(const StepTimes&) const = default;
};

/// The same as it is measured. In ticks: a better calibration of the clock changes none of it, and
/// sums of it do not depend on their order.
struct StepTicks : trace::StepSums {
  int rank = 0;
  std::uint32_t step = 0;
  std::uint64_t startTicks = 0;
  std::uint64_t endTicks = 0;
  double coreWait = 0;
  bool incomplete = false;
  trace::KeptDetail kept = trace::KeptDetail::kWhole;

  [[nodiscard]] std::uint64_t duration() const { return endTicks - startTicks; }
  [[nodiscard]] std::uint64_t exposed() const { return inFlight - overlap; }
  /// What `part` is of the time in flight, in percent; none: nothing was in flight.
  [[nodiscard]] std::optional<double> percentOfFlight(std::uint64_t part) const;
  bool operator==(const StepTicks&) const = default;
};
/// `stolenShare`: of stolenPercent, 0..1.
StepTimes timesOf(const StepTicks& step, double nsPerTick, double stolenShare);

/// What the spans of one rank say of its steps, as they come: its step thread, and where its lanes
/// lost events.
class StepPieces {
 public:
  /// Returns false where the span changes a step that was forgotten.
  bool add(const trace::SpanRow& span);
  /// Takes what a step came to when all of its spans were there, in the place of what is measured
  /// of those that were kept. Returns as for a span.
  bool add(const trace::StepSumsRow& sums);
  /// Returns one entry for each kStep span that is not forgotten, by start.
  [[nodiscard]] std::vector<StepTicks> measure(const RankActivity& activity) const;
  /// Forgets the steps below `next`, and what ended until `before`, when the last of them did.
  void forget(std::uint32_t next, std::uint64_t before);

 private:
  struct Step {
    Interval window;
    std::uint32_t step = 0;
  };
  struct Phases {
    std::uint64_t forward = 0;
    std::uint64_t backward = 0;
    std::uint64_t optimizer = 0;
  };
  Phases& phasesOf(std::uint32_t step);

  std::vector<Step> steps_;
  std::vector<Interval> gaps_;
  std::set<std::uint32_t> gapSteps_;
  std::map<std::uint32_t, trace::StepSumsRow> sums_;
  // Ticks, by step: micro-batches add up.
  std::vector<std::pair<std::uint32_t, Phases>> phases_;
  std::uint32_t next_ = 0;
  std::uint64_t before_ = 0;
};

/// Returns what a hypervisor took over the whole run of the core that lost most, on the machine
/// that lost most; none where nothing is known of it.
std::optional<double> stolenPercent(const RunData& data);

}  // namespace lockstep::analysis
