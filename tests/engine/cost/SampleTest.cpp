#include "engine/cost/Sample.h"

#include <gtest/gtest.h>

namespace lockstep::cost {
namespace {

TEST(Sample, AQuantileLiesBetweenTwoValuesWhereItFallsThere) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile({3, 1, 2}, 1), 3);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30, 40, 50}, 0.9), 46);
  EXPECT_EQ(middle({4, 1, 2, 3}), 2.5);
}

TEST(Sample, TheWeightedMiddleIsWhereHalfOfTheWeightIsReached) {
  EXPECT_EQ(weightedMiddle({}), 0);
  EXPECT_EQ(weightedMiddle({{1, 1}, {2, 1}, {3, 1}}), 2);
  EXPECT_EQ(weightedMiddle({{3, 5}, {1, 1}, {2, 1}}), 3);
}

TEST(Sample, BlocksAreRunsOfNumbersThatFollowEachOther) {
  std::mt19937_64 random(3);
  EXPECT_TRUE(drawBlocks(0, random).empty());
  EXPECT_EQ(drawBlocks(1, random), std::vector<std::size_t>{0});
  const auto drawn = drawBlocks(64, random);
  ASSERT_EQ(drawn.size(), 64u);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_LT(drawn[i], 64u);
    if (i % 8 != 0) {
      EXPECT_EQ(drawn[i], drawn[i - 1] + 1) << i;
    }
  }
}

}  // namespace
}  // namespace lockstep::cost
