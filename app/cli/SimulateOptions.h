#pragma once

#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/simulate/CollectiveModel.h"

namespace lockstep::cli {

/// Reads numbers of ranks: "64", "8,12,16", or "8..4096" for 8, doubled up to 4096. Ascending.
base::Result<std::vector<int>> ranksFrom(const std::string& text);

/// Error: some of them, ascending, are fewer than were recorded.
base::Status noneFewer(const std::vector<int>& ranks, int recorded);

/// Error: one is none of so many ranks, or they are more than a run file shows.
base::Status canBeShown(const std::vector<int>& shown, int ranks);

/// Reads a link: the name of a preset of experiments, or "LATENCY,BANDWIDTH" in microseconds and
/// Gbit/s.
base::Result<simulate::LinkCost> linkFrom(const std::string& text);

}  // namespace lockstep::cli
