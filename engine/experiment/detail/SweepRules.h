#pragma once

#include <vector>

#include "engine/experiment/Parse.h"
#include "engine/experiment/detail/Document.h"

namespace lockstep::experiment::detail {

/// Returns what is wrong with a sweep as such: keys that cannot be varied, values that are no
/// list, too many runs. Whether a value fits its key shows in the run that has it.
std::vector<Mistake> brokenSweepRules(const std::vector<SweepEntry>& sweep);

}  // namespace lockstep::experiment::detail
