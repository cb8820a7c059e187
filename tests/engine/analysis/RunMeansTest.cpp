#include "engine/analysis/RunMeans.h"

#include <gtest/gtest.h>

#include <cmath>

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

// Each round is as much slower as its number says, for both: the ratio is 0.8 in all of them.
TEST(RunMeansTest, WhatARoundDoesToBothOfAPairFallsOut) {
  const auto ratio = pairedRatio({10, 20, 40}, {8, 16, 32}, 0.005);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->mean, 0.8, 1e-12);
  EXPECT_NEAR(ratio->high, 0.8, 1e-9);
}

// Logarithms of 0.8, 0.8 and 1: the error of their mean -0.1488 is 0.0744, and t of 2 degrees
// is 9.925.
TEST(RunMeansTest, ARatioIsAsSureAsItsPairsAreAlike) {
  const auto ratio = pairedRatio({10, 10, 10}, {8, 8, 10}, 0.005);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->mean, 0.8618, 1e-4);
  EXPECT_NEAR(ratio->low, 0.8618 * std::exp(-9.925 * 0.0744), 1e-3);
  EXPECT_NEAR(ratio->high, 0.8618 * std::exp(9.925 * 0.0744), 2e-3);
  EXPECT_FALSE(pairedRatio({10}, {8}, 0.005));
  EXPECT_FALSE(pairedRatio({10, 0}, {8, 8}, 0.005));
}

}  // namespace
}  // namespace lockstep::analysis
