#include "engine/base/CountSketch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace lockstep::base {
namespace {

std::vector<float> normalNumbers(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(generator);
  }
  return values;
}

std::vector<double> sketchOf(const std::vector<float>& values) {
  CountSketch sketch;
  sketch.add(values.data(), values.size());
  return sketch.counters();
}

double norm(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) {
    squares += value * value;
  }
  return std::sqrt(squares);
}

TEST(CountSketchTest, ReturnsTheSumOfSquares) {
  const std::vector<float> values{3, -4, 12};
  CountSketch sketch;
  EXPECT_EQ(sketch.add(values.data(), values.size()), 169);
  EXPECT_EQ(norm(sketch.counters()), 13) << "three elements of one block do not meet";
}

TEST(CountSketchTest, IsLinear) {
  std::vector<float> a = normalNumbers(5'000, 1);
  std::vector<float> b = normalNumbers(5'000, 2);
  std::vector<float> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = std::round(a[i] * 64);  // integers, so that no sum is rounded
    b[i] = std::round(b[i] * 64);
    difference[i] = a[i] - b[i];
  }
  std::vector<double> expected = sketchOf(a);
  const std::vector<double> ofB = sketchOf(b);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] -= ofB[i];
  }
  EXPECT_EQ(sketchOf(difference), expected);
}

TEST(CountSketchTest, OneChangedElementOfManyIsFoundAtItsSize) {
  const std::vector<float> a = normalNumbers(100'000, 3);
  std::vector<float> b = a;
  b[77'777] += 0.001f;
  const std::vector<double> ofA = sketchOf(a);
  std::vector<double> between = sketchOf(b);
  for (std::size_t i = 0; i < between.size(); ++i) {
    between[i] -= ofA[i];
  }
  EXPECT_NEAR(norm(between), static_cast<double>(b[77'777]) - a[77'777], 1e-9);
}

/// Vectors whose elements are spread evenly, equal, or all in one column of a matrix.
class CountSketchEstimateTest : public testing::TestWithParam<int> {};

TEST_P(CountSketchEstimateTest, TheSquareIsUnbiasedAndAsNearAsPromised) {
  std::vector<float> values = normalNumbers(20'000, 4);
  for (std::size_t i = 0; i < values.size() && GetParam() != 0; ++i) {
    values[i] = GetParam() == 1 ? 1.0f : static_cast<float>(i % 256 == 7);
  }
  constexpr int kTrials = 400;  // each from another place of the sequence of signs
  double sum = 0;
  double squares = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    CountSketch sketch;
    const std::vector<float> nothing(256 * static_cast<std::size_t>(trial));
    sketch.add(nothing.data(), nothing.size());
    const double truth = sketch.add(values.data(), values.size());
    const double estimate = norm(sketch.counters());
    const double ratio = estimate * estimate / truth;
    sum += ratio;
    squares += ratio * ratio;
  }
  const double mean = sum / kTrials;
  const double deviation = std::sqrt(squares / kTrials - mean * mean);
  EXPECT_NEAR(mean, 1, 0.02);
  EXPECT_LT(deviation, 0.1) << "sqrt(2 / 256) is 0.088";
  EXPECT_GT(deviation, 0.05);
}

std::string nameOf(const testing::TestParamInfo<int>& kind) {
  return kind.param == 0 ? "Even" : kind.param == 1 ? "Equal" : "OneColumn";
}

INSTANTIATE_TEST_SUITE_P(Vectors, CountSketchEstimateTest, testing::Values(0, 1, 2), nameOf);

TEST(CountSketchTest, DoublesAreSketchedAsFloatsAre) {
  const std::vector<float> values = normalNumbers(700, 5);
  const std::vector<double> wide(values.begin(), values.end());
  CountSketch sketch;
  sketch.add(wide.data(), wide.size());
  EXPECT_EQ(sketch.counters(), sketchOf(values));
}

TEST(CountSketchTest, WhatIsNotFiniteShows) {
  std::vector<float> values = normalNumbers(300, 6);
  values[299] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(norm(sketchOf(values))));
}

}  // namespace
}  // namespace lockstep::base
