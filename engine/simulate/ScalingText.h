#pragma once

#include <string>

#include "engine/simulate/Scaling.h"

namespace lockstep::simulate {

// The words of a simulation, for whoever shows one.

/// "81 % (77 to 84 %)".
std::string efficiencyText(const cost::Estimate& efficiency);

/// A sentence: from which number of ranks on the efficiency is below the bound, and by what.
/// `rows`: those that the point was found in.
std::string breakingText(const BreakingPoint& point, const std::vector<RanksForecast>& rows);

/// A sentence: what is behind the latest of more ranks than the recording has steps of ranks; empty
/// where no row has as many.
std::string tailText(const Scaling& scaling, const std::vector<RanksForecast>& rows);

}  // namespace lockstep::simulate
