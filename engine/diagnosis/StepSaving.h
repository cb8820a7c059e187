#pragma once

#include <optional>
#include <vector>

#include "engine/cost/BlockBootstrap.h"
#include "engine/cost/Forecaster.h"
#include "engine/diagnosis/Evidence.h"
#include "engine/diagnosis/RankWork.h"

namespace lockstep::diagnosis {

// Note [What a cause costs]
// A cause is taken out of the recorded steps and these are replayed (Note [The replay of a step]).
// What a step takes less than in the replay of what was measured is the saving: waiting of other
// ranks that goes with the cause is in it, and what another rank, or a transfer, makes them wait
// for next is not. Steps take longer than in their replay, or shorter, by what it does not know:
// threads that wake up late, transfers that were held up. Of that the cause is given the part that
// it has of the step.
//
// The interval is what a run with the cause and one without are expected to differ by in their mean
// steps, and not what this run's steps say of themselves. It reaches either way as far as these
// together, the root of the sum of their squares:
//   - the interval of the mean saving over the steps (Note [Block bootstrap]);
//   - that of the difference between two runs by their steps alone: those of this one, and the same
//     without the cause, are drawn apart from each other;
//   - to where nothing of what the replay misses goes with the cause, and to where all of it does;
//   - as much as the thirds of the run differ, and 4 % of the step without the cause, as in a
//     forecast (Note [The interval of a forecast]): what differs from run to run.
// A time that a step spends on what is not needed is a saving without a replay. It is known from
// the spans to a hair; what two runs differ by is the same.

/// Returns the excess of a rank as a replay takes it out.
cost::RankExcess rankExcess(int rank, const std::vector<Excess>& excess);

/// Returns what a step would take less, in the mean of all ranks, if `rank` took no longer than the
/// middle one of the others for these parts of its work. None: too few steps.
std::optional<cost::MeanInterval> savingWithout(const cost::Forecaster& forecaster, int rank,
                                                const std::vector<Excess>& excess);

/// Returns how much longer a rank took for these parts together, a step. None: too few steps.
std::optional<cost::MeanInterval> timeOf(const std::vector<Excess>& excess);

/// Returns `spent`, a time that steps of the run spend, as what they would take less without it.
cost::MeanInterval savingOfTime(const Evidence& evidence, const cost::MeanInterval& spent);

/// Returns what a step would take less with the buckets of a forecast, in the mean of all ranks;
/// its interval is that of the forecasts.
std::optional<cost::MeanInterval> savingOf(const std::vector<cost::RankForecast>& ranks);

}  // namespace lockstep::diagnosis
