#include "engine/analysis/LateRanks.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "engine/analysis/RunAnalysis.h"

namespace lockstep::analysis {

std::vector<int> lateRanks(const RunAnalysis& run) {
  std::vector<RankLateness> late;
  std::ranges::copy_if(run.lateness, std::back_inserter(late), &RankLateness::late);
  std::ranges::stable_sort(late, std::ranges::greater(), &RankLateness::meanMs);
  std::vector<int> ranks;
  for (const RankLateness& rank : late) {
    ranks.push_back(rank.rank);
  }
  return ranks;
}

}  // namespace lockstep::analysis
