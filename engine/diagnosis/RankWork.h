#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/analysis/RunData.h"

namespace lockstep::diagnosis {

// Note [What a rank does in a step]
// A step of a rank is cut into parts in which it works and does not wait for another rank, so that
// the same part of two ranks can be set against each other: its data, its forward (without the
// broadcast of buffers and the exchange of batch statistics, which wait), the time before each
// gradient, and its optimizer. A backward with buckets in flight goes on while they are reduced, so
// that the time from one gradient to the next is the rank's own. What comes behind the last
// gradient is waiting and copying out, and no part of it.

/// What a part is: a phase, or the way to the gradient of a parameter.
struct WorkPart {
  enum class Kind : std::uint8_t { kData, kForward, kGradient, kOptimizer };
  Kind kind = Kind::kData;
  std::uint32_t parameter = 0;  ///< of kGradient

  auto operator<=>(const WorkPart&) const = default;
};

/// "data", "forward", "backward", "optimizer".
std::string_view nameOf(WorkPart::Kind kind);

/// Returns "in its data", "in its forward", "before the gradient of NAME", "in its optimizer".
std::string phraseOf(const WorkPart& part, const std::string& parameter);

/// How long each part of a step took, in ms.
using WorkMs = std::map<WorkPart, double>;

struct RankWork {
  int rank = 0;
  std::map<std::uint32_t, WorkMs> steps;  ///< by number
};

/// Returns what each rank did in the last 512 steps from `firstStep` on, by rank. Steps that have
/// not ended are left out.
std::vector<RankWork> rankWork(const analysis::RunData& data, std::uint32_t firstStep);

/// How much longer one rank took for a part than the middle one of the others, each step.
struct Excess {
  WorkPart part;
  std::vector<std::uint32_t> steps;
  std::vector<double> ms;  ///< of each of them
  double meanMs = 0;
};

/// Returns the excess of each part of `rank`, over the steps that all ranks have, the largest mean
/// first.
std::vector<Excess> excessOf(const std::vector<RankWork>& work, int rank);

/// How often something strikes: in every `every`-th step from `first` on.
struct Period {
  std::uint32_t first = 0;
  std::uint32_t every = 1;
};

/// Returns the period of values by step of which a few are far above the rest; none where most are
/// alike, or those few have no steady distance.
std::optional<Period> periodOf(const std::vector<std::uint32_t>& steps,
                               const std::vector<double>& ms);

}  // namespace lockstep::diagnosis
