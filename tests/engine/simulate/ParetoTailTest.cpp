#include "engine/simulate/ParetoTail.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/simulate/Draws.h"

namespace lockstep::simulate {
namespace {

/// The quantiles of a generalised Pareto distribution of scale 2, as evenly as so many show it.
std::vector<double> paretoOf(double shape, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    const double above = 1 - (i + 0.5) / count;
    values.push_back(shape == 0 ? -2 * std::log(above) : 2 * (std::pow(above, -shape) - 1) / shape);
  }
  return values;
}

// Above a threshold u the excesses of one with scale s are those of one with scale s + shape u.
TEST(ParetoTail, FindsShapeAndScaleOfAParetoDistribution) {
  for (const double shape : {-0.5, -0.2, 0.0, 0.25}) {
    const auto tail = ParetoTail::fit(paretoOf(shape, 20'000));
    ASSERT_TRUE(tail);
    EXPECT_NEAR(tail->shape, shape, 0.02);
    EXPECT_NEAR(tail->scale, 2 + shape * tail->threshold, 0.05);
    EXPECT_NEAR(tail->part, kTailPart, 1e-3);
    EXPECT_EQ(tail->excesses, 3000u);
  }
}

TEST(ParetoTail, OfAnEvenDistributionEndsWhereThatEnds) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(i / 999.0);
  }
  const auto tail = ParetoTail::fit(values);
  ASSERT_TRUE(tail);
  EXPECT_NEAR(tail->shape, -1, 0.05);
  EXPECT_NEAR(tail->value(1e-6), 1, 0.02);
}

TEST(ParetoTail, LargerPartsLieHigher) {
  const auto tail = ParetoTail::fit(paretoOf(0.1, 200));
  ASSERT_TRUE(tail);
  EXPECT_DOUBLE_EQ(tail->value(1), tail->threshold);
  EXPECT_LT(tail->value(0.1), tail->value(0.01));
  EXPECT_LT(tail->value(0.01), tail->value(0.0001));
}

// The largest of 4096 is expected about ln(4096) above the mean of an exponential distribution:
// 128 values of it do not show that.
TEST(ParetoTail, ReachesBeyondItsSample) {
  std::vector<double> reached;
  std::vector<double> shown;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(seed, 0);
    std::vector<double> values;
    for (int i = 0; i < 128; ++i) {
      values.push_back(-std::log(draws.part()));
    }
    shown.push_back(*std::max_element(values.begin(), values.end()));
    const auto tail = ParetoTail::fit(values);
    ASSERT_TRUE(tail);
    reached.push_back(tail->value(1 / (4096 * kTailPart)));
  }
  const auto middleOf = [](std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + 100, values.end());
    return values[100];
  };
  EXPECT_LT(middleOf(shown), 0.7 * std::log(4096));
  EXPECT_NEAR(middleOf(reached), std::log(4096), 0.25 * std::log(4096));
}

TEST(ParetoTail, IsNoneOfFewValuesAndOfEqualOnes) {
  EXPECT_FALSE(ParetoTail::fit(paretoOf(0, 30)));
  EXPECT_FALSE(ParetoTail::fit(std::vector<double>(500, 3.0)));
  EXPECT_FALSE(ParetoTail::fit({}));
}

}  // namespace
}  // namespace lockstep::simulate
