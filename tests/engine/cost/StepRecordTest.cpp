#include "engine/cost/StepRecord.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::cost {
namespace {

/// Buckets of 100, 200 and 100 bytes on two ranks. The first is met at 120 and ends at 170; the
/// second came at 130 and queues until then, and takes to 250; the third is alone, 300 to 350.
StepRecord threeBuckets() {
  StepRecord step;
  step.ranks.resize(2);
  for (std::size_t r = 0; r < 2; ++r) {
    step.ranks[r].rank = static_cast<int>(r);
    step.ranks[r].filledNs = {100, 120, 290};
    step.ranks[r].waitsNs = 290;
    step.ranks[r].lastGradientNs = 290;
    step.ranks[r].computing = {{0, 290}};
    step.ranks[r].endNs = 420;
  }
  step.buckets = {
      {{0}, 100, {{105, 110, 170, 292, 302}, {105, 120, 170, 292, 302}}},
      {{1}, 200, {{125, 130, 250, 302, 322}, {125, 130, 250, 302, 322}}},
      {{2}, 100, {{295, 300, 350, 354, 364}, {295, 300, 350, 354, 364}}},
  };
  return step;
}

TEST(StepRecord, ATransferDoesNotTakeWhatItQueued) {
  const auto samples = transferSamples(threeBuckets(), 1);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].ns, 50) << "from the last rank on";
  EXPECT_FALSE(samples[0].queued);
  EXPECT_EQ(samples[1].ns, 80) << "not the 120 since it came";
  EXPECT_TRUE(samples[1].queued);
  EXPECT_EQ(samples[2].ns, 50);
  EXPECT_EQ(samples[1].bytes, 200u);
}

TEST(StepRecord, WhereSeveralTravelOnlyThoseAloneTellWhatTheyTake) {
  for (const std::size_t inFlight : {std::size_t{0}, std::size_t{2}}) {
    const auto samples = transferSamples(threeBuckets(), inFlight);
    ASSERT_EQ(samples.size(), 2u);
    EXPECT_EQ(samples[0].bytes, 100u);
    EXPECT_EQ(samples[1].bytes, 100u);
  }
}

// Launched 5 behind full, and begun 5 behind that (10 on rank 0's first would be 15 on rank 1's);
// the thread waits for the last result alone, which it takes up 4 after its end; 40 ns of copies
// for 400 bytes.
TEST(StepRecord, HabitsAreMediansOverStepsAndBuckets) {
  const auto habits = rankHabits({threeBuckets(), threeBuckets()});
  ASSERT_EQ(habits.size(), 2u);
  EXPECT_EQ(habits[0].launchDelayNs, 5);
  EXPECT_EQ(habits[0].startDelayNs, 5);
  EXPECT_EQ(habits[0].resultDelayNs, 4);
  EXPECT_DOUBLE_EQ(habits[0].copyOutNsPerByte, 0.1);
}

TEST(StepRecord, ABucketIsFullWithItsLastGradient) {
  RankStep rank;
  rank.filledNs = {10, 30, 20, kNoTime};
  EXPECT_EQ(fullNs(rank, {0, 1, 2}), 30);
  EXPECT_TRUE(std::isnan(fullNs(rank, {0, 3})));
  EXPECT_TRUE(std::isnan(fullNs(rank, {0, 4})));
}

}  // namespace
}  // namespace lockstep::cost
