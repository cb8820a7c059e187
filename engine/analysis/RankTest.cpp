#include "engine/analysis/RankTest.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::analysis {

std::optional<RankTest> rankTest(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < kFewestForRankTest || b.size() < kFewestForRankTest) {
    return std::nullopt;
  }
  std::vector<std::pair<double, bool>> all;  // and whether it is of b
  all.reserve(a.size() + b.size());
  for (const double value : a) {
    all.emplace_back(value, false);
  }
  for (const double value : b) {
    all.emplace_back(value, true);
  }
  std::sort(all.begin(), all.end());

  double ranksOfB = 0;
  double ties = 0;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t last = first;
    std::size_t ofB = 0;
    for (; last < all.size() && all[last].first == all[first].first; ++last) {
      ofB += all[last].second ? 1 : 0;
    }
    const double count = static_cast<double>(last - first);
    ranksOfB += static_cast<double>(ofB) * static_cast<double>(first + 1 + last) / 2;
    ties += count * count * count - count;
    first = last;
  }
  const double countA = static_cast<double>(a.size());
  const double countB = static_cast<double>(b.size());
  const double both = countA + countB;
  const double u = ranksOfB - countB * (countB + 1) / 2;
  const double variance = countA * countB / 12 * (both + 1 - ties / (both * (both - 1)));
  RankTest test;
  test.shareGreater = u / (countA * countB);
  if (variance > 0) {
    const double off = std::max(0.0, std::abs(u - countA * countB / 2) - 0.5);
    test.p = std::erfc(off / std::sqrt(2 * variance));
  }
  return test;
}

}  // namespace lockstep::analysis
