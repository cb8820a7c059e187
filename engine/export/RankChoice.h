#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/export/Survey.h"

namespace lockstep::exports {

/// Which ranks of a run are meant: all of them, some, or those that are unlike the rest.
struct RankChoice {
  std::vector<int> ranks = {};  ///< in the order in which they were named, each once
  bool outliers = false;        ///< instead of `ranks`

  [[nodiscard]] bool all() const { return ranks.empty() && !outliers; }
};

/// Reads "3,17,100-120" or "outliers".
/// Errors: anything else, a range that ends before it begins.
base::Result<RankChoice> parseRanks(const std::string& text);

/// Returns the ranks that are meant of a run of so many; none: all. `unlike`: its outliers.
/// Errors: a rank that the run has not, no outliers.
base::Result<std::vector<int>> ranksOf(const RankChoice& choice, int rankCount,
                                       const std::vector<int>& unlike);
/// The same of a run file, which is read and analysed only for its outliers.
base::Result<std::vector<int>> ranksOf(const RankChoice& choice, const std::filesystem::path& run,
                                       const Progress& progress);

}  // namespace lockstep::exports
