#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/analysis/RunAnalysis.h"

namespace lockstep::analysis {

/// How often a rank was the last: of a step that counts which came last to the collective that was
/// waited for longest. One of them is always last, so that this accuses nobody: Note [Lateness].
struct LastRanks {
  struct OfRank {
    std::uint32_t steps = 0;
    std::uint32_t worst = 0;  ///< of these, the one in which it was waited for longest
  };

  std::uint32_t steps = 0;  ///< measured ones in which it is known which rank that was
  std::map<int, OfRank> ranks;

  /// The rank that was last in most steps; none: in no step it is known, or two were equally often.
  [[nodiscard]] std::optional<int> mostOften() const;
};

LastRanks lastRanks(const RunAnalysis& run);

}  // namespace lockstep::analysis
