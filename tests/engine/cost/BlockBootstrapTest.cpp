#include "engine/cost/BlockBootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace lockstep::cost {
namespace {

/// Steps around 10 ms, each like the one before: what is left of a busy moment halves every
/// 1 / (1 - `alike`) steps or so.
std::vector<double> steps(std::size_t count, double alike, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise;
  std::vector<double> values;
  double state = 0;
  for (std::size_t i = 0; i < count; ++i) {
    state = alike * state + noise(random);
    values.push_back(10 + state);
  }
  return values;
}

/// In how many of 200 pairs of samples of the same kind the interval leaves 0 out.
int falseAlarms(double alike) {
  int alarms = 0;
  for (std::uint32_t pair = 0; pair < 200; ++pair) {
    const auto between =
        differenceInterval(steps(100, alike, 2 * pair), steps(100, alike, 2 * pair + 1), 0.005);
    alarms += between->low > 0 || between->high < 0 ? 1 : 0;
  }
  return alarms;
}

TEST(BlockBootstrapTest, SeldomTakesChanceForADifference) {
  EXPECT_LE(falseAlarms(0), 10);
}

// Taken for independent, such steps give an alarm in about every fifth pair.
TEST(BlockBootstrapTest, SeldomTakesABusyMomentForADifference) {
  EXPECT_LE(falseAlarms(0.5), 14);
}

TEST(BlockBootstrapTest, SaysTheSameOfManySamplesOneAfterTheOther) {
  MeanIntervals intervals;
  for (const std::size_t count : {100U, 100U, 9'000U, 100U, 7U, 64U}) {
    for (std::uint32_t seed = 0; seed < 3; ++seed) {
      const std::vector<double> samples = steps(count, 0.5, seed);
      EXPECT_EQ(intervals.of(samples, 0.01), meanInterval(samples, 0.01)) << count;
    }
  }
}

TEST(BlockBootstrapTest, TakesAsFewNeighboursTogetherAsMakeFewEnough) {
  for (const auto& [count, together] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 1}, {1, 1}, {1024, 1}, {1025, 2}, {2048, 2}, {2049, 4}, {72'000, 128}}) {
    EXPECT_EQ(takenTogether(count), together) << count;
  }
}

TEST(BlockBootstrapTest, SeesADifferenceThatIsThere) {
  std::vector<double> slower = steps(100, 0.5, 1);
  for (double& value : slower) {
    value += 2;
  }
  const auto between = differenceInterval(steps(100, 0.5, 2), slower, 0.005);
  EXPECT_GT(between->low, 0);
  EXPECT_NEAR(between->mean, 2, 1);
}

TEST(BlockBootstrapTest, KnowsAMeanThatNeverVaries) {
  const auto mean = meanInterval(std::vector<double>(20, 3.5), 0.005);
  EXPECT_EQ(mean->mean, 3.5);
  EXPECT_NEAR(mean->low, 3.5, 1e-12);
  EXPECT_NEAR(mean->high, 3.5, 1e-12);
}

// Independent steps: the mean of n lies within 2.58 / sqrt(n) of 10 in 99 of 100 samples.
TEST(BlockBootstrapTest, OfManyStepsIsAsSureAsTheirNumberMakesIt) {
  for (const std::size_t count : {4'096u, 4'097u, 20'000u, 100'000u}) {
    const std::vector<double> many = steps(count, 0, 11);
    const auto mean = meanInterval(many, 0.005);
    EXPECT_DOUBLE_EQ(mean->mean,
                     std::accumulate(many.begin(), many.end(), 0.0) / static_cast<double>(count));
    EXPECT_LT(mean->low, 10) << count;
    EXPECT_GT(mean->high, 10) << count;
    const double width = 2 * 2.58 / std::sqrt(static_cast<double>(count));
    EXPECT_NEAR(mean->high - mean->low, width, 0.4 * width) << count;
  }
}

TEST(BlockBootstrapTest, SaysNothingOfFewSteps) {
  EXPECT_FALSE(meanInterval(std::vector<double>(7, 1.0), 0.005).has_value());
  EXPECT_FALSE(differenceInterval(std::vector<double>(7, 1.0), std::vector<double>(99, 1.0), 0.005)
                   .has_value());
}

TEST(BlockBootstrapTest, BlocksAreRunsOfNumbersThatFollowEachOther) {
  std::mt19937 random(3);
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
