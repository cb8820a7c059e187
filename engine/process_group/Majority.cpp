#include "engine/process_group/Majority.h"

#include <algorithm>
#include <map>

namespace lockstep::process_group {

std::vector<int> outvoted(const std::vector<std::pair<int, std::uint64_t>>& values, int size) {
  std::map<std::uint64_t, int> votes;
  for (const auto& [rank, value] : values) {
    ++votes[value];
  }
  std::vector<int> ranks;
  for (const auto& [rank, value] : values) {
    // More than half of the group, of which some may have said nothing: half against half accuses
    // no one of the two more than the other.
    if (2 * votes[value] <= size) {
      ranks.push_back(rank);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace lockstep::process_group
