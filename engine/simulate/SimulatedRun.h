#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/simulate/Scaling.h"
#include "engine/trace/Messages.h"

namespace lockstep::simulate {

/// A run file to be made of a simulation.
struct SimulatedRunFacts {
  std::filesystem::path path;  ///< must not exist
  std::string name;            ///< of the recorded run
  std::string runId;           ///< of the recorded run
  std::string file;            ///< the recorded run's
  std::vector<trace::ParametersMessage::Parameter> parameters;
  trace::BucketsMessage layout;  ///< the recorded buckets
  int ranks = 0;
  std::vector<int> shown;  ///< below `ranks`; besides the first, the median and the latest
};

/// A file holds the spans of no more ranks than these.
inline constexpr std::size_t kMostShown = 64;

/// Writes a run of kind trace::RunKind::kSimulated. It has the spans of a few ranks: rank 0, the
/// one that comes to the last bucket in the middle of all, in the mean over the steps, the one that
/// comes latest, and those that are asked for, at most kMostShown; they are numbered from 0 on. Of
/// all ranks it has, as metrics `all_ranks.*` of rank 0, each step's means and which rank was the
/// last. Returns the ranks shown.
base::Result<std::vector<int>> writeSimulatedRun(const Scaling& scaling,
                                                 const SimulatedRunFacts& facts);

}  // namespace lockstep::simulate
