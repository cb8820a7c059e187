#pragma once

#include <optional>
#include <vector>

#include "engine/cost/BlockBootstrap.h"
#include "engine/cost/Forecaster.h"
#include "engine/diagnosis/RankWork.h"

namespace lockstep::diagnosis {

// Note [What a cause costs]
// A cause is taken out of the recorded steps and these are replayed (Note [The replay of a step]).
// What a step takes less than in the replay of what was measured is the saving: waiting of other
// ranks that goes with the cause is in it, and what another rank, or a transfer, makes them wait
// for next is not. Its interval is that of the mean over the steps (Note [Block bootstrap]), wider
// by as much as the replay of the run's own steps misses what was measured, in proportion to the
// part of the step that is saved.

/// Returns the excess of a rank as a replay takes it out.
cost::RankExcess rankExcess(int rank, const std::vector<Excess>& excess);

/// Returns what a step would take less, in the mean of all ranks, if `rank` took no longer than the
/// middle one of the others for these parts of its work. None: too few steps.
std::optional<cost::MeanInterval> savingWithout(const cost::Forecaster& forecaster, int rank,
                                                const std::vector<Excess>& excess);

/// Returns what a step would take less with the buckets of a forecast, in the mean of all ranks;
/// its interval is that of the forecasts.
std::optional<cost::MeanInterval> savingOf(const std::vector<cost::RankForecast>& ranks);

}  // namespace lockstep::diagnosis
