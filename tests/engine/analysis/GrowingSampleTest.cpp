#include "engine/analysis/GrowingSample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lockstep::analysis {
namespace {

// Up to four taken together, and a copy that goes on beyond where twice as many are.
TEST(GrowingSampleTest, HasTheIntervalOfAllItsValuesAtOnce) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(1.5, 4);
  GrowingSample growing;
  std::vector<double> all;
  cost::MeanIntervals intervals;
  cost::MeanIntervals ofCopies;
  EXPECT_FALSE(growing.interval(0.01, intervals));
  for (int count = 1; count <= 4'200; ++count) {
    all.push_back(noise(random));
    growing.add(all.back());
    const bool edge = count <= 10 || count % 1024 <= 1 || count % 1024 == 1020;
    if (!edge && count % 300 != 7) {
      continue;
    }
    EXPECT_EQ(growing.interval(0.01, intervals), cost::meanInterval(all, 0.01)) << count;
    GrowingSample copy = growing;
    std::vector<double> more = all;
    for (int i = 0; i < 40; ++i) {
      more.push_back(noise(random));
      copy.add(more.back());
    }
    EXPECT_EQ(copy.interval(0.01, ofCopies), cost::meanInterval(more, 0.01)) << count;
    EXPECT_EQ(growing.size(), all.size()) << "a copy has an end of its own";
  }
}

}  // namespace
}  // namespace lockstep::analysis
