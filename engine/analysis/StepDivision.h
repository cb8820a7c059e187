#pragma once

#include "engine/analysis/RankFlights.h"
#include "engine/analysis/StepOverlap.h"

namespace lockstep::analysis {

/// Cuts one step of a rank into its parts and says why its exposed part is there. `moments` are of
/// all ranks, `rank` is that of the step. [any-thread]
StepOverlap dividedStep(const MomentsByRank& moments, const RankFlights& rank,
                        const RunAnalysis& run, const StepTimes& times,
                        const base::ClockCalibration& clock);

}  // namespace lockstep::analysis
