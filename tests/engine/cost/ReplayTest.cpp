#include "engine/cost/Replay.h"

#include <gtest/gtest.h>

#include "tests/engine/cost/HandMadeSteps.h"

namespace lockstep::cost {
namespace {

/// Four gradients of 100 bytes on two ranks, at 100, 200, 300 and 400 on rank 0, and 10 later on
/// rank 1. Computing until the last; the step ends 30 after the last result.
class ReplayTest : public testing::Test {
 protected:
  ReplayTest() {
    for (int r = 0; r < 2; ++r) {
      RankStep& rank = step_.ranks.emplace_back();
      const double late = 10.0 * r;
      rank.rank = r;
      rank.filledNs = {100 + late, 200 + late, 300 + late, 400 + late};
      rank.lastGradientNs = rank.waitsNs = 400 + late;
      rank.computing = {{0, 400 + late}};
      rank.endNs = 500;
    }
    step_.buckets = {{{0, 1, 2, 3}, 400, {{400, 400, 470, 470, 470}, {410, 410, 470, 470, 470}}}};
  }

  [[nodiscard]] StepOutcome with(const std::vector<PlannedBucket>& plan, const Line& line) const {
    return replay(step_, std::vector<RankHabits>(2), line, plan);
  }

  static std::vector<PlannedBucket> one() { return {{{0, 1, 2, 3}, 400}}; }
  static std::vector<PlannedBucket> pairs() { return {{{0, 1}, 200}, {{2, 3}, 200}}; }
  static std::vector<PlannedBucket> each() {
    return {{{0}, 100}, {{1}, 100}, {{2}, 100}, {{3}, 100}};
  }

  StepRecord step_;
};

// 20 + 0.1 a byte: from 410, when rank 1 has come, to 470. Rank 0 has 70 of it behind its last
// gradient, rank 1 60.
TEST_F(ReplayTest, OfItsOwnBucketsIsTheMeasurement) {
  const StepOutcome measured = measuredOutcome(step_);
  const StepOutcome same = with(planOf(step_), {{20, 0.1, 0}, 1});
  ASSERT_EQ(same.buckets.size(), 1u);
  EXPECT_EQ(same.buckets[0].endedNs, 470);
  EXPECT_EQ(measured.ranks[0].exposedNs, 70);
  EXPECT_EQ(measured.ranks[1].exposedNs, 60);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(same.ranks[r].exposedNs, measured.ranks[r].exposedNs);
    EXPECT_EQ(same.ranks[r].inFlightNs, measured.ranks[r].inFlightNs);
    EXPECT_EQ(same.ranks[r].stepNs, 500);
  }
}

// The first pair goes from 210 to 250, the second from 410 to 450: 20 less than one bucket.
TEST_F(ReplayTest, SmallerBucketsHideWhatIsReadyEarlier) {
  const StepOutcome smaller = with(pairs(), {{20, 0.1, 0}, 1});
  EXPECT_EQ(smaller.buckets[0].endedNs, 250);
  EXPECT_EQ(smaller.buckets[1].endedNs, 450);
  EXPECT_EQ(smaller.ranks[0].exposedNs, 50);
  EXPECT_EQ(smaller.ranks[0].inFlightNs, 50 + 50);
  EXPECT_EQ(smaller.ranks[0].stepNs, 480);
}

// 200 each, one at a time: 110 to 310, 510, 710, 910.
TEST_F(ReplayTest, BucketsQueueWhereOneTravelsAtATime) {
  const StepOutcome slow = with(each(), {{200, 0, 0}, 1});
  EXPECT_EQ(slow.buckets[1].endedNs, 510);
  EXPECT_EQ(slow.buckets[3].endedNs, 910);
  EXPECT_EQ(slow.ranks[0].exposedNs, 510);
  EXPECT_EQ(slow.ranks[0].stepNs, 940);
}

// Latency of 150 and 0.5 a byte, 50 for each bucket. Two at once: the third waits for the first,
// which is there at 310. Without a limit each has its own latency.
TEST_F(ReplayTest, OfSeveralAtOnceTheBytesGoOneAfterTheOther) {
  const StepOutcome two = with(each(), {{150, 0.5, 0}, 2});
  EXPECT_EQ(two.buckets[0].endedNs, 310);
  EXPECT_EQ(two.buckets[1].endedNs, 410);
  EXPECT_EQ(two.buckets[2].endedNs, 510);
  EXPECT_EQ(two.buckets[3].endedNs, 610);
  const StepOutcome all = with(each(), {{1000, 1.5, 0}, 0});
  EXPECT_EQ(all.buckets[0].endedNs, 110 + 150 + 1000);
  EXPECT_EQ(all.buckets[1].endedNs, 260 + 150 + 1000) << "the link is taken until 260";
  EXPECT_EQ(all.buckets[3].endedNs, 560 + 150 + 1000);
}

// The notice comes behind each, and holds up no other: 110..310, 310..510, ..., each seen 7 later.
TEST_F(ReplayTest, WhatIsSeenLateHoldsUpNoOther) {
  const StepOutcome slow = with(each(), {{200, 0, 7}, 1});
  EXPECT_EQ(slow.buckets[0].endedNs, 317);
  EXPECT_EQ(slow.buckets[3].endedNs, 917);
}

// Full at 400 and 410, launched 5 later, begun 3 later: 418 to 478; the copy-out begins 4 after
// that and takes 0.25 a byte, 100; then the 30 that came behind the last result.
TEST_F(ReplayTest, EachRankKeepsItsHabits) {
  RankHabits habits;
  habits.launchDelayNs = 5;
  habits.startDelayNs = 3;
  habits.resultDelayNs = 4;
  habits.copyOutNsPerByte = 0.25;
  const StepOutcome told = replay(step_, {habits, habits}, {{20, 0.1, 0}, 1}, one());
  EXPECT_EQ(told.buckets[0].launchedNs, 415);
  EXPECT_EQ(told.buckets[0].endedNs, 478);
  EXPECT_EQ(told.ranks[0].stepNs, 478 + 4 + 100 + 30);
}

// While the first is copied out, from 410 to 510, the second travels until 450: the step waits for
// the copies and not for the link.
TEST_F(ReplayTest, CopiesOutGoOnWhileOthersTravel) {
  RankHabits habits;
  habits.copyOutNsPerByte = 0.5;
  const StepOutcome told = replay(step_, {habits, habits}, {{20, 0.1, 0}, 1}, pairs());
  EXPECT_EQ(told.buckets[1].endedNs, 450);
  EXPECT_EQ(told.ranks[1].stepNs, 410 + 100 + 100 + 30);
}

// Between 150 and 250 rank 0 copies gradients in: what is in flight then is exposed.
TEST_F(ReplayTest, ExposedIsWhatIsInFlightWhileTheRankDoesNotCompute) {
  step_.ranks[0].computing = {{0, 150}, {230, 400}};
  const StepOutcome told = with(pairs(), {{20, 0.1, 0}, 1});  // 200..250 and 400..450 on rank 0
  EXPECT_EQ(told.ranks[0].exposedNs, 30 + 50);
}

TEST_F(ReplayTest, AWholeBucketIsCopiedBeforeItIsLaunched) {
  step_.ranks[1].wholeCopyNsPerByte = 0.1;
  const StepOutcome told = with(one(), {{20, 0.1, 0}, 1});
  EXPECT_EQ(told.buckets[0].launchedNs, 450);
}

// Rank 1 needs 200 longer behind its result and begins the next step so much later: its gradients
// are there at 610, and rank 0 waits for them. From then on both take the 700 of rank 1, whatever
// was between the steps that were recorded.
TEST_F(ReplayTest, WhoEndsAStepLaterBeginsTheNextLater) {
  std::vector<RankHabits> habits(2);
  habits[1].copyOutNsPerByte = 0.5;
  const auto plan = one();
  for (const std::uint32_t second : {1u, 7u}) {
    ReplayedSteps steps(habits, {{20, 0.1, 0}, 1}, plan);
    EXPECT_EQ(steps.next(step_).ranks[0].stepNs, 500);
    StepRecord next = step_;
    next.step = second;
    const StepOutcome told = steps.next(next);
    EXPECT_EQ(told.buckets[0].endedNs, 670);
    EXPECT_EQ(told.ranks[0].exposedNs, 270);
    EXPECT_EQ(told.ranks[1].exposedNs, 60);
    EXPECT_EQ(told.ranks[0].stepNs, 700);
    EXPECT_EQ(told.ranks[1].stepNs, 700);
  }
}

// Rank 1 ends 400 after rank 0, which waits for it before both go on: with that taken out, nothing
// of the next step is another.
TEST_F(ReplayTest, RanksThatMetBetweenTwoStepsBeginTheNextAsTheyDid) {
  const std::vector<RankHabits> habits(2);
  const auto plan = one();
  StepRecord first = step_;
  first.ranks[1].endNs = 900;
  StepRecord next = step_;
  next.step = first.step + 1;
  next.originNs = 910;
  EXPECT_TRUE(metBetween(first, next));
  ReplayedSteps steps(habits, {{20, 0.1, 0}, 1}, plan);
  EXPECT_EQ(steps.next(first, step_).ranks[1].stepNs, 500);
  for (const RankOutcome& rank : steps.next(next).ranks) {
    EXPECT_EQ(rank.stepNs, 500);
  }
  next.originNs = 600;
  EXPECT_FALSE(metBetween(first, next)) << "rank 0 went on before rank 1 had ended";
  first.ranks[1].endNs = 501;
  EXPECT_FALSE(metBetween(first, next)) << "both took as long between the two";
}

// With all layers in one bucket as with five: the generator and the replay agree on every step.
TEST(ReplayOfASleepingRun, ForecastsWhatARunWithOtherBucketsDoes) {
  test::SleepingRun run;
  run.lateNs = {0, 3e5};
  for (const int perBucket : {1, 2, 4, 10, 20}) {
    test::SleepingRun other = run;
    other.perBucket = perBucket;
    const StepRecord truth = other.steps(1).front();
    const StepOutcome told = replay(run.steps(1).front(), std::vector<RankHabits>(2),
                                    {{run.latencyNs, run.nsPerByte, 0}, 1}, planOf(truth));
    const StepOutcome measured = measuredOutcome(truth);
    for (std::size_t r = 0; r < 2; ++r) {
      EXPECT_NEAR(told.ranks[r].exposedNs, measured.ranks[r].exposedNs, 1e-3) << perBucket;
      EXPECT_NEAR(told.ranks[r].stepNs, measured.ranks[r].stepNs, 1e-3) << perBucket;
    }
  }
}

}  // namespace
}  // namespace lockstep::cost
