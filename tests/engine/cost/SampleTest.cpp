#include "engine/cost/Sample.h"

#include <gtest/gtest.h>

namespace lockstep::cost {
namespace {

TEST(Sample, AQuantileLiesBetweenTwoValuesWhereItFallsThere) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile({3, 1, 2}, 1), 3);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30, 40, 50}, 0.9), 46);
}

TEST(Sample, TheWeightedMiddleIsWhereHalfOfTheWeightIsReached) {
  EXPECT_EQ(weightedMiddle({}), 0);
  EXPECT_EQ(weightedMiddle({{1, 1}, {2, 1}, {3, 1}}), 2);
  EXPECT_EQ(weightedMiddle({{3, 5}, {1, 1}, {2, 1}}), 3);
}

TEST(Sample, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({}), std::nullopt);
}

}  // namespace
}  // namespace lockstep::cost
