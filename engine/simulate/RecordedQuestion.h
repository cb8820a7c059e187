#pragma once

#include <vector>

#include "engine/analysis/RecordedSteps.h"
#include "engine/simulate/Scaling.h"
#include "engine/trace/RunFile.h"

namespace lockstep::simulate {

/// Returns what a recorded run tells of itself to a simulation: its steps, its link and its hosts;
/// how many ranks are asked for is left open. `ranks` are those of the run file. [any-thread]
ScalingQuestion questionOf(const analysis::RecordedSteps& recorded,
                           const std::vector<trace::RankInfo>& ranks);

/// Returns `first`, doubled up to `last`, which is the last of them. 0 < `first` <= `last`.
std::vector<int> doublings(int first, int last);

/// Returns `rows` of forecasts from the recorded ranks on, as breakingPoint() takes them: these
/// come first, and where they were not asked for as the simulation has them.
std::vector<RanksForecast> rowsFromOwn(const Scaling& scaling, std::vector<RanksForecast> rows);

}  // namespace lockstep::simulate
