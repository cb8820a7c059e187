#include "engine/analysis/RankTest.h"

#include <gtest/gtest.h>

namespace lockstep::analysis {
namespace {

// a = 1..8, b = 9..16: no value of b is below one of a, so U = 64 of 64 pairs. Mean 32, variance
// 8 * 8 * 17 / 12 = 90.6667; z = (32 - 0.5) / 9.52190 = 3.30816; p = erfc(z / sqrt 2) = 0.000939.
TEST(RankTestTest, SamplesThatDoNotOverlapDiffer) {
  const auto test = rankTest({1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16});
  ASSERT_TRUE(test.has_value());
  EXPECT_NEAR(test->p, 0.000939, 0.000001);
  EXPECT_EQ(test->shareGreater, 1);
}

TEST(RankTestTest, TheOrderOfTheRunsChangesTheSideAndNotTheChance) {
  const auto test = rankTest({9, 10, 11, 12, 13, 14, 15, 16}, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(test.has_value());
  EXPECT_NEAR(test->p, 0.000939, 0.000001);
  EXPECT_EQ(test->shareGreater, 0);
}

// Odd against even numbers 1..16: of the 64 pairs 36 have the even one above, U = 36.
// z = (4 - 0.5) / 9.52190 = 0.36757; p = erfc(0.25991) = 0.71319.
TEST(RankTestTest, SamplesThatMixDoNotDiffer) {
  const auto test = rankTest({1, 3, 5, 7, 9, 11, 13, 15}, {2, 4, 6, 8, 10, 12, 14, 16});
  ASSERT_TRUE(test.has_value());
  EXPECT_NEAR(test->p, 0.7132, 0.0001);
  EXPECT_EQ(test->shareGreater, 36.0 / 64);
}

// Four 1 and four 2 against eight 2: 32 pairs lie above, 32 tie, U = 48. Ties: 4 of 1 give
// 64 - 4 = 60, 12 of 2 give 1728 - 12 = 1716; variance 64 / 12 * (17 - 1776 / 240) = 51.2;
// z = (16 - 0.5) / 7.15542 = 2.16619; p = 0.03030.
TEST(RankTestTest, TiesAreHalfAPairAndNarrowTheChance) {
  const auto test = rankTest({1, 1, 1, 1, 2, 2, 2, 2}, {2, 2, 2, 2, 2, 2, 2, 2});
  ASSERT_TRUE(test.has_value());
  EXPECT_NEAR(test->p, 0.0303, 0.0001);
  EXPECT_EQ(test->shareGreater, 0.75);
}

TEST(RankTestTest, ValuesThatAreAllTheSameDoNotDiffer) {
  const auto test = rankTest(std::vector<double>(8, 5.0), std::vector<double>(9, 5.0));
  ASSERT_TRUE(test.has_value());
  EXPECT_EQ(test->p, 1);
  EXPECT_EQ(test->shareGreater, 0.5);
}

TEST(RankTestTest, TooFewValuesAreNotTested) {
  EXPECT_FALSE(rankTest(std::vector<double>(7, 1.0), std::vector<double>(100, 2.0)).has_value());
  EXPECT_FALSE(rankTest(std::vector<double>(100, 1.0), {}).has_value());
}

}  // namespace
}  // namespace lockstep::analysis
