#include "engine/analysis/WhatIfCap.h"

#include <gtest/gtest.h>

#include "tests/engine/analysis/HandMadeStep.h"

namespace lockstep::analysis {
namespace {

// Four parameters of 100 bytes on one rank and then another, ready in the reverse of their
// registration, under caps of 100 and 200 bytes: buckets {3}, {2 1}, {0}.
//   rank 0: 3 at 100, 2 at 200, 1 at 300, 0 at 400; rank 1: 10 later each
// A bucket is launched 5 after it is full and begins 5 after that; 100 bytes take 50, 200 take 80:
// 20 and 0.3 a byte.
//            full      launched  began            ended
//   b0 {3}   100/110   105/115   110/120          120 + 50 = 170
//   b1 {2 1} 300/310   305/315   310/320          320 + 80 = 400
//   b2 {0}   400/410   405/415   410/420          420 + 50 = 470
class WhatIfCapTest : public testing::Test {
 protected:
  WhatIfCapTest() : made_(2) {
    made_.bucket({3}, 100).bucket({2, 1}, 200).bucket({0}, 200);
    made_.layout.layout = 1;
    const std::uint64_t ready[] = {400, 300, 200, 100};
    for (int rank = 0; rank < 2; ++rank) {
      const auto late = static_cast<std::uint64_t>(10 * rank);
      for (std::uint32_t parameter = 0; parameter < 4; ++parameter) {
        made_.ready(rank, parameter, ready[parameter] + late);
      }
      made_.launch(rank, 0, 102 + late, 105 + late).collective(rank, 0, 110 + late, 170, 1);
      made_.launch(rank, 1, 302 + late, 305 + late).collective(rank, 1, 310 + late, 400, 2);
      made_.launch(rank, 2, 402 + late, 405 + late).collective(rank, 2, 410 + late, 470, 3);
    }
  }

  MeasuredStep step() {
    MeasuredStep step;
    step.parameters = std::vector<trace::ParametersMessage::Parameter>(
        4, {.name = "p", .shape = {25}, .dtype = "float32", .numel = 25, .bytes = 100});
    step.layout = made_.layout;
    step.caps = {100, 200, {}};
    step.orders = readyOrders(made_.ranks, 0, &made_.layout);
    step.lives = bucketLives(made_.ranks, 0, made_.layout, step.orders);
    return step;
  }

  HandMadeStep made_;
};

TEST_F(WhatIfCapTest, FitsLatencyAndTimeAByteToTheRunsOwnBuckets) {
  const auto samples = costSamples(step());
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[1].bytes, 200u);
  EXPECT_EQ(samples[1].ticks, 80) << "from the last rank's begin";
  const auto cost = fitCost(samples);
  ASSERT_TRUE(cost.has_value());
  EXPECT_NEAR(cost->latencyTicks, 20, 1e-9);
  EXPECT_NEAR(cost->ticksPerByte, 0.3, 1e-9);
  EXPECT_NEAR(cost->errorPercent, 0, 1e-9);
  EXPECT_EQ(cost->samples, 3u);
}

// The medians are 50 and 80: the samples are off by 0, 0, 0, 50 and 60 %. Of 50 and 100 at one size
// the median is 75: they are off by 50 and 25 %, the one of the other size by nothing.
TEST_F(WhatIfCapTest, TheErrorOfTheFitIsThatOfATypicalSample) {
  const auto one = fitCost({{100, 50}, {100, 50}, {200, 80}, {200, 160}, {200, 50}});
  ASSERT_TRUE(one.has_value());
  EXPECT_NEAR(one->errorPercent, 0, 1e-9);
  const auto spread = fitCost({{100, 50}, {100, 100}, {1000, 300}});
  ASSERT_TRUE(spread.has_value());
  EXPECT_NEAR(spread->ticks(100), 75, 1e-9);
  EXPECT_NEAR(spread->errorPercent, 25, 1e-9);
}

TEST_F(WhatIfCapTest, DoesNotTellLatencyFromBandwidthWhereAllBucketsAreOfOneSize) {
  EXPECT_FALSE(fitCost({}).has_value());
  EXPECT_FALSE(fitCost({{100, 50}, {100, 60}}).has_value());
  EXPECT_FALSE(fitCost({{100, 50}, {140, 60}}).has_value());
}

// A line through 100: 10 and 200: 40 would begin below zero: through zero it has
// (100 * 10 + 200 * 40) / (100^2 + 200^2) = 9000 / 50000 = 0.18 a byte.
TEST_F(WhatIfCapTest, NeverFitsATimeBelowZero) {
  const auto steep = fitCost({{100, 10}, {200, 40}});
  ASSERT_TRUE(steep.has_value());
  EXPECT_EQ(steep->latencyTicks, 0);
  EXPECT_NEAR(steep->ticksPerByte, 0.18, 1e-12);
  const auto falling = fitCost({{100, 40}, {200, 10}});
  ASSERT_TRUE(falling.has_value());
  EXPECT_EQ(falling->ticksPerByte, 0);
  EXPECT_NEAR(falling->latencyTicks, 25, 1e-12);
}

// Behind the last gradient: rank 0 has 410..470 of it, 60; rank 1 420..470, 50. In flight are
// 60 + 90 + 60 = 210 and 50 + 80 + 50 = 180.
TEST_F(WhatIfCapTest, SaysWhatWasMeasuredInTheSameTerms) {
  const auto measured = measuredOutcome(step());
  ASSERT_TRUE(measured.ok()) << measured.error().message();
  EXPECT_EQ(measured.value().exposedTicks, 55);
  EXPECT_EQ(measured.value().inFlightTicks, 195);
  EXPECT_NEAR(*measured.value().overlapPercent, 100.0 * 140 / 195, 1e-9);
  EXPECT_EQ(measured.value().lastGradientTicks, 410u);
  EXPECT_EQ(measured.value().endTicks, 470u);
}

TEST_F(WhatIfCapTest, AtItsOwnCapTheForecastIsTheMeasurement) {
  const LaunchHabits habits = launchHabits(step());
  EXPECT_EQ(habits.launchDelayTicks, 5);
  EXPECT_EQ(habits.startDelayTicks, 5);
  EXPECT_EQ(habits.atOnce, 1u);
  const auto same = forecast(step(), *fitCost(costSamples(step())), 200);
  ASSERT_TRUE(same.ok()) << same.error().message();
  const auto measured = measuredOutcome(step());
  ASSERT_EQ(same.value().buckets.size(), 3u);
  for (std::size_t b = 0; b < 3; ++b) {
    EXPECT_EQ(same.value().buckets[b].parameters, measured.value().buckets[b].parameters);
    EXPECT_EQ(same.value().buckets[b].launchedTicks, measured.value().buckets[b].launchedTicks);
    EXPECT_EQ(same.value().buckets[b].beganTicks, measured.value().buckets[b].beganTicks);
    EXPECT_EQ(same.value().buckets[b].endedTicks, measured.value().buckets[b].endedTicks);
  }
  EXPECT_EQ(same.value().exposedTicks, 55);
}

// Cap 300: {3}, then {2 1 0}, full at 400/410, launched 405/415, begun 410/420, and 300 bytes take
// 20 + 90 = 110: until 530. Exposed: 410..530 and 420..530, 115.
TEST_F(WhatIfCapTest, ALargerCapPutsMoreBehindTheLastGradient) {
  const auto larger = forecast(step(), *fitCost(costSamples(step())), 300);
  ASSERT_TRUE(larger.ok()) << larger.error().message();
  ASSERT_EQ(larger.value().buckets.size(), 2u);
  EXPECT_EQ(larger.value().buckets[1].parameters, (std::vector<std::uint32_t>{2, 1, 0}));
  EXPECT_EQ(larger.value().buckets[1].launchedTicks, 415u);
  EXPECT_EQ(larger.value().endTicks, 530u);
  EXPECT_EQ(larger.value().exposedTicks, 115);
}

// Cap 100: each alone, 50 each. b1 {2} is full at 200/210, begins at 210/220, ends at 270; b2 {1}
// 310/320..370; b3 {0} 410/420..470. A slower line, 20 + 1.5 a byte = 170 each, makes them queue:
// b0 120..290, b1 290..460, b2 460..630, b3 630..800; exposed from 400 to 800 and 410 to 800.
TEST_F(WhatIfCapTest, ASmallerCapLaunchesEarlierAndQueuesWhereTheLineIsSlow) {
  const auto smaller = forecast(step(), *fitCost(costSamples(step())), 100);
  ASSERT_TRUE(smaller.ok()) << smaller.error().message();
  ASSERT_EQ(smaller.value().buckets.size(), 4u);
  EXPECT_EQ(smaller.value().buckets[1].launchedTicks, 215u);
  EXPECT_EQ(smaller.value().buckets[1].endedTicks, 270u);
  EXPECT_EQ(smaller.value().endTicks, 470u);
  const auto slow = forecast(step(), {.latencyTicks = 20, .ticksPerByte = 1.5}, 100);
  ASSERT_TRUE(slow.ok());
  EXPECT_EQ(slow.value().buckets[1].beganTicks, 290u);
  EXPECT_EQ(slow.value().endTicks, 800u);
  EXPECT_EQ(slow.value().exposedTicks, 395);
}

TEST_F(WhatIfCapTest, SaysInASentenceWhyItCannotTell) {
  const CommunicationCost cost{.latencyTicks = 20, .ticksPerByte = 0.3};
  const auto why = [&](const MeasuredStep& measured) {
    const auto told = forecast(measured, cost, 300);
    return told.ok() ? std::string("told") : told.error().message();
  };
  MeasuredStep initial = step();
  initial.layout.layout = 0;
  EXPECT_NE(why(initial).find("of the construction"), std::string::npos);
  MeasuredStep otherCaps = step();
  otherCaps.caps.capBytes = 300;
  EXPECT_NE(why(otherCaps).find("cannot be told"), std::string::npos);
  MeasuredStep missing = step();
  missing.orders[1].gradients.erase(missing.orders[1].gradients.begin());
  EXPECT_NE(why(missing).find("every gradient"), std::string::npos);
  MeasuredStep silent = step();
  silent.lives[1].ranks[0].endedTicks.reset();
  EXPECT_FALSE(measuredOutcome(silent).ok());
}

}  // namespace
}  // namespace lockstep::analysis
