#include "engine/analysis/RunMeans.h"

#include <gtest/gtest.h>

namespace lockstep::analysis {
namespace {

TEST(RunMeansTest, StudentsTIsThatOfTheTables) {
  EXPECT_NEAR(studentT(1, 0.005), 63.657, 0.001);
  EXPECT_NEAR(studentT(2, 0.005), 9.925, 0.001);
  EXPECT_NEAR(studentT(4, 0.025), 2.776, 0.001);
  EXPECT_NEAR(studentT(30, 0.005), 2.750, 0.001);
  EXPECT_NEAR(studentT(1000, 0.025), 1.962, 0.001);
}

TEST(RunMeansTest, TakesTwoRunsOfEachSide) {
  EXPECT_FALSE(runMeansInterval({1}, {2, 3}, 0.005).has_value());
  EXPECT_FALSE(runMeansInterval({1, 2}, {3}, 0.005).has_value());
  EXPECT_EQ(runMeansInterval({1, 2}, {3, 4}, 0.005)->mean, 2);
}

TEST(RunMeansTest, RunsThatAreAllAlikeLeaveNoDoubt) {
  const auto between = runMeansInterval({1, 1}, {3, 3}, 0.005);
  EXPECT_EQ(between->low, 2);
  EXPECT_EQ(between->high, 2);
}

}  // namespace
}  // namespace lockstep::analysis
