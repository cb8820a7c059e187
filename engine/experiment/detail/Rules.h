#pragma once

#include <string>
#include <vector>

#include "engine/experiment/Experiment.h"

namespace lockstep::experiment::detail {

/// A broken rule that spans keys, or concerns a file. It is reported at the first of `keys`
/// that was written.
struct BrokenRule {
  std::vector<std::string> keys;
  std::string text;
};

/// Returns every rule that `experiment` breaks, its single values being in range.
std::vector<BrokenRule> brokenRules(const Experiment& experiment);

}  // namespace lockstep::experiment::detail
