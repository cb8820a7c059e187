#pragma once

#include <vector>

namespace lockstep::analysis {

struct RunAnalysis;

/// Returns the ranks that are late (Note [Lateness]), the latest first: of many ranks those that are
/// worth a look.
std::vector<int> lateRanks(const RunAnalysis& run);

}  // namespace lockstep::analysis
