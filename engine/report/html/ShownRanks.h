#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/report/RunReport.h"

namespace lockstep::report::html {

/// Ranks that a part of the report shows, of all that there are.
struct ShownRanks {
  std::vector<int> ranks;  ///< sorted
  std::size_t all = 0;

  [[nodiscard]] bool complete() const { return ranks.size() == all; }
  [[nodiscard]] bool holds(int rank) const;
  /// Says which of the ranks these are; "" where they are all.
  [[nodiscard]] std::string text() const;
};

/// Returns all ranks where there are no more than `most`. Else those that did not end well, those
/// that are unlike the rest, each with its neighbour, the middle one, and the first that are left.
ShownRanks shownRanks(const RunReport& report, std::size_t most);

/// Whether a rank ended in another way than it was asked to.
bool endedBadly(const trace::RankInfo& rank);

}  // namespace lockstep::report::html
