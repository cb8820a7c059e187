#pragma once

#include <string>
#include <vector>

#include "engine/simulate/Scaling.h"

namespace lockstep::cli {

/// A recording, and what it comes to on more ranks.
struct Simulated {
  std::string path;
  simulate::Scaling scaling;
  std::vector<simulate::RanksForecast> rows;
  simulate::BreakingPoint breaks;
  std::string hook;        ///< another one; empty: its own
  std::string ofHook;      ///< a sentence: what is taken of one that was verified; else empty
  std::string runFile;     ///< of --out; empty: none was asked for
  std::vector<int> shown;  ///< the ranks whose spans are in it
};

/// Returns all of it as one JSON object on several lines; times in ms, efficiencies 0 to 1.
std::string toJson(const Simulated& told);

}  // namespace lockstep::cli
