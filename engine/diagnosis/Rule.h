#pragma once

#include <string_view>
#include <vector>

#include "engine/diagnosis/Evidence.h"
#include "engine/diagnosis/Finding.h"

namespace lockstep::diagnosis {

/// One thing that may be the matter with a run. A rule is one file of rules/, a row of the table in
/// Rules.cpp, and a test of its name.
struct Rule {
  std::string_view name;       ///< "late_rank"
  std::string_view looksAt;    ///< its evidence, a clause
  std::string_view threshold;  ///< when it speaks: effect and confidence, a clause
  std::string_view remedy;     ///< what it advises, a clause
  /// Returns what it found; nothing where all is well, or where the run cannot tell.
  std::vector<Finding> (*judge)(const Evidence&);
};

/// All rules, in the order in which findings of the same cost are told.
const std::vector<Rule>& rules();

}  // namespace lockstep::diagnosis
