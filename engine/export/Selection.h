#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"

namespace lockstep::exports {

/// Iterations, both ends included.
struct StepRange {
  std::uint32_t first = 0;
  std::uint32_t last = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] bool holds(std::uint32_t step) const { return first <= step && step <= last; }
  bool operator==(const StepRange&) const = default;
};

/// Reads "7", "3..9", "3-9", "3.." or "..9".
/// Errors: anything else, an end before its begin.
base::Result<StepRange> parseStepRange(const std::string& text);

/// Host ticks, the end not included.
struct TickRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What of a run is exported: all of it, or some iterations, or a stretch of time; and of which
/// ranks.
struct Selection {
  std::optional<StepRange> steps = {};
  std::optional<TickRange> ticks = {};  ///< instead of `steps`
  std::vector<int> ranks = {};          ///< of these alone; empty: of all

  /// Whether it is of the whole time of the run.
  [[nodiscard]] bool all() const { return !steps && !ticks; }
  [[nodiscard]] bool holdsRank(int rank) const {
    return ranks.empty() || std::ranges::find(ranks, rank) != ranks.end();
  }

  /// Iterations hold what was recorded in them, start-up not; a stretch of time holds what reaches
  /// into it.
  [[nodiscard]] bool holds(const trace::SpanRow& span) const {
    if (steps) {
      return steps->holds(span.step) && span.kind != trace::EventKind::kStartup;
    }
    return !ticks ||
           (span.startTicks < ticks->end && span.startTicks + span.durationTicks >= ticks->begin);
  }
};

}  // namespace lockstep::exports
