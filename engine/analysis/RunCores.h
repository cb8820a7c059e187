#pragma once

#include <optional>
#include <vector>

#include "engine/analysis/RunData.h"
#include "engine/cost/Cores.h"
#include "engine/trace/RunFile.h"

namespace lockstep::analysis {

/// Returns the cores that a run's ranks shared and what they kept busy of them once they trained.
/// None: not all of them compute on the CPU of the host that records, or too little is known of
/// their processor time. [any-thread]
std::optional<cost::Cores> coresOf(const RunData& data, const trace::RunInfo& info,
                                   const std::vector<trace::RankInfo>& ranks);

}  // namespace lockstep::analysis
