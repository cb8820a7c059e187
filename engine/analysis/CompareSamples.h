#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "engine/analysis/Compare.h"

namespace lockstep::analysis {

/// One number of one rank in one measured step.
struct RankStepValue {
  int rank = 0;
  std::uint32_t step = 0;
  double value = 0;
};

/// Returns a metric's values in the measured steps of all ranks; empty for what has one value a
/// run, and for the rate of steps.
std::vector<RankStepValue> rankStepValues(const RunData& data, const RunAnalysis& run,
                                          Metric metric);

/// The iterations of a run by what a comparison does with them.
struct Iterations {
  std::set<std::uint32_t> measured;
  std::uint32_t warmUp = 0;
  std::uint32_t incomplete = 0;  ///< a rank dropped events in them
};
Iterations countIterations(const RunAnalysis& run);

/// Returns for each of `iterations` that has values the mean over its ranks, in order.
std::vector<double> meansByIteration(const std::vector<RankStepValue>& values,
                                     const std::set<std::uint32_t>& iterations);

}  // namespace lockstep::analysis
