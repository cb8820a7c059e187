#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/BucketLife.h"
#include "engine/analysis/Intervals.h"
#include "engine/analysis/ReadyOrder.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// What a run recorded of one iteration.
struct StepSpans {
  std::vector<analysis::RankSpans> ranks;  ///< phases, gradients, buckets, hook and communication
  std::vector<analysis::Interval> steps;   ///< of each rank; empty: not ended
  std::uint64_t originTicks = 0;           ///< the first rank began the iteration
  std::uint64_t lostEvents = 0;            ///< dropped while it went on, all ranks
  analysis::RankClocks clocks;
};

/// Gathers them; costs the spans of two iterations, since what was launched in one may end in the
/// next. [ui-thread]
StepSpans spansOfStep(const RunModel& model, std::uint32_t step);

/// Returns a span of an iteration by its row in the run file. [ui-thread]
std::optional<Span> findInStep(const RunModel& model, int rank, std::uint32_t step,
                               std::int64_t spanId);

}  // namespace lockstep::ui
