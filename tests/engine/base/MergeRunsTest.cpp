#include "engine/base/MergeRuns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace lockstep::base {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

bool earlier(const std::pair<int, int>& a, const std::pair<int, int>& b) {
  return a.first < b.first;
}

/// Numbers in runs of this length, each with the place that it had.
Pairs inRuns(std::size_t count, std::size_t run) {
  std::mt19937 random(7);
  Pairs pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.emplace_back(static_cast<int>(random() % 50), 0);
  }
  for (std::size_t first = 0; first < count; first += run) {
    std::sort(pairs.begin() + static_cast<std::ptrdiff_t>(first),
              pairs.begin() + static_cast<std::ptrdiff_t>(std::min(first + run, count)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    pairs[i].second = static_cast<int>(i);
  }
  return pairs;
}

TEST(MergeRunsTest, SortsAndKeepsLikeElementsInTheirOrder) {
  for (const std::size_t count : {0u, 1u, 2u, 7u, 100u, 1000u}) {
    for (const std::size_t run : {1u, 3u, 64u, 333u, 5000u}) {
      Pairs pairs = inRuns(count, run);
      Pairs sorted = pairs;
      std::stable_sort(sorted.begin(), sorted.end(), earlier);
      mergeRuns(pairs, earlier);
      EXPECT_EQ(pairs, sorted) << count << " in runs of " << run;
    }
  }
}

}  // namespace
}  // namespace lockstep::base
