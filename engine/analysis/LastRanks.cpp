#include "engine/analysis/LastRanks.h"

#include <utility>

namespace lockstep::analysis {

std::optional<int> LastRanks::mostOften() const {
  std::optional<int> most;
  std::uint32_t largest = 0;
  for (const auto& [rank, of] : ranks) {
    if (of.steps > largest) {
      most = rank;
      largest = of.steps;
    } else if (of.steps == largest) {
      most.reset();
    }
  }
  return most;
}

LastRanks lastRanks(const RunAnalysis& run) {
  std::map<std::uint32_t, std::pair<std::uint64_t, int>> longest;  // by step: ticks and last rank
  eachFrom(run.collectives, run.warmUp.firstMeasured, [&](const CollectiveTimes& collective) {
    if (collective.lastRank) {
      auto& [ticks, last] = longest[collective.step];
      if (collective.skewTicks >= ticks) {
        ticks = collective.skewTicks;
        last = *collective.lastRank;
      }
    }
  });
  LastRanks last{static_cast<std::uint32_t>(longest.size()), {}};
  std::map<int, std::uint64_t> most;
  for (const auto& [step, of] : longest) {
    LastRanks::OfRank& rank = last.ranks[of.second];
    rank.steps += 1;
    if (of.first >= most[of.second]) {
      most[of.second] = of.first;
      rank.worst = step;
    }
  }
  return last;
}

}  // namespace lockstep::analysis
