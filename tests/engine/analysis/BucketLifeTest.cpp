#include "engine/analysis/BucketLife.h"

#include <gtest/gtest.h>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeStep.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

std::vector<BucketLife> livesOf(const HandMadeStep& step) {
  return bucketLives(step.ranks, 0, step.layout, readyOrders(step.ranks, 0, &step.layout));
}

// Buckets {2} {1} {0}. Ready: bucket 1 at 100, bucket 2 at 150, bucket 0 at 300: then all three are
// launched, 0 at 301, 1 at 310, 2 at 320. Buckets 1 and 2 stalled behind bucket 0, for 310 - 100
// and 320 - 150; bucket 0 behind none.
TEST(BucketLife, NamesTheEarlierBucketThatABucketStalledBehind) {
  HandMadeStep step(1);
  step.bucket({2}).bucket({1}).bucket({0});
  step.launch(0, 0, 300, 301).launch(0, 1, 100, 310).launch(0, 2, 150, 320);
  const auto lives = livesOf(step);
  EXPECT_FALSE(lives[0].ranks[0].stalledBehind.has_value());
  EXPECT_EQ(lives[0].ranks[0].stallTicks(), 0u);
  EXPECT_EQ(lives[1].ranks[0].stalledBehind, 0);
  EXPECT_EQ(lives[1].ranks[0].stallTicks(), 210u);
  EXPECT_EQ(lives[2].ranks[0].stalledBehind, 0);
  EXPECT_EQ(lives[2].ranks[0].stallTicks(), 170u);
}

// Ready: bucket 0 at 100, bucket 1 at 300, bucket 2 at 200. Bucket 2 stalled behind bucket 1, which
// was the last of those before it, though bucket 0 stands first.
TEST(BucketLife, BlamesTheLastOfTheEarlierBuckets) {
  HandMadeStep step(1);
  step.bucket({2}).bucket({1}).bucket({0});
  step.launch(0, 0, 100, 101).launch(0, 1, 300, 301).launch(0, 2, 200, 305);
  const auto lives = livesOf(step);
  EXPECT_EQ(lives[2].ranks[0].stalledBehind, 1);
  EXPECT_EQ(lives[2].ranks[0].stallTicks(), 105u);
}

// Bucket 1 is launched at 120, in the middle of bucket 0's communication from 100 to 200, and
// begins at 205: it queued behind bucket 0. Bucket 0 began when it was launched.
TEST(BucketLife, NamesTheBucketWhoseCommunicationHeldAnotherUp) {
  HandMadeStep step(1);
  step.bucket({1}).bucket({0});
  step.launch(0, 0, 90, 91).collective(0, 0, 100, 200, 1);
  step.launch(0, 1, 119, 120).collective(0, 1, 205, 300, 2);
  const auto lives = livesOf(step);
  EXPECT_FALSE(lives[0].ranks[0].queuedBehind.has_value());
  EXPECT_EQ(lives[1].ranks[0].queuedBehind, 0);
  EXPECT_EQ(lives[1].ranks[0].beganTicks, 205u);
  EXPECT_EQ(lives[1].ranks[0].endedTicks, 300u);
}

// Two allreduces at once: bucket 1 begins at 130 while bucket 0 is in flight until 200.
TEST(BucketLife, BlamesNobodyWhenTwoAreInFlightAtOnce) {
  HandMadeStep step(1);
  step.bucket({1}).bucket({0});
  step.launch(0, 0, 90, 91).collective(0, 0, 100, 200, 1);
  step.launch(0, 1, 119, 120).collective(0, 1, 130, 300, 2);
  EXPECT_FALSE(livesOf(step)[1].ranks[0].queuedBehind.has_value());
}

// Rank 1 comes to the check before the allreduce at 160, rank 0 at 100: the ranks meet at 160, and
// the modelled link ends at 260.
TEST(BucketLife, MeetsWhenTheLastRankCame) {
  HandMadeStep step(2);
  step.bucket({0});
  step.add(0, EventKind::kChecked, 100, 110, 0).collective(0, 0, 170, 250, 1);
  step.add(1, EventKind::kChecked, 160, 165, 0).collective(1, 0, 165, 250, 1);
  step.add(0, EventKind::kShaped, 251, 260, 0);
  const auto lives = livesOf(step);
  EXPECT_EQ(lives[0].ranks[0].beganTicks, 100u);
  EXPECT_EQ(lives[0].ranks[0].endedTicks, 260u);
  EXPECT_EQ(lives[0].metTicks, 160u);
  EXPECT_EQ(lives[0].lastRank, 1);
}

TEST(BucketLife, DoesNotSayWhoCameLastWhenItCannotKnow) {
  HandMadeStep missing(2);
  missing.bucket({0});
  missing.collective(0, 0, 100, 200, 1);
  EXPECT_FALSE(livesOf(missing)[0].lastRank.has_value());

  HandMadeStep pairs(2);  // each sends to the other: nobody has to come for the other to begin
  pairs.bucket({0});
  pairs.collective(0, 0, 100, 200, 1, trace::Operation::kSend);
  pairs.collective(1, 0, 150, 200, 1, trace::Operation::kSend);
  EXPECT_FALSE(livesOf(pairs)[0].lastRank.has_value());

  HandMadeStep alone(1);
  alone.bucket({0});
  alone.collective(0, 0, 100, 200, 1);
  EXPECT_FALSE(livesOf(alone)[0].lastRank.has_value());
}

TEST(BucketLife, GoesThroughItsStages) {
  HandMadeStep step(1);
  step.bucket({1, 0});
  step.ready(0, 1, 100).ready(0, 0, 200).launch(0, 0, 210, 220).collective(0, 0, 230, 300, 1);
  const BucketTimes times = livesOf(step)[0].ranks[0];
  EXPECT_EQ(times.stageAt(99), BucketStage::kEmpty);
  EXPECT_EQ(times.stageAt(100), BucketStage::kFilling);
  EXPECT_EQ(times.stageAt(210), BucketStage::kReady);
  EXPECT_EQ(times.stageAt(220), BucketStage::kLaunched);
  EXPECT_EQ(times.stageAt(230), BucketStage::kInFlight);
  EXPECT_EQ(times.stageAt(300), BucketStage::kDone);
  EXPECT_EQ(times.firstGradientTicks, 100u);
  EXPECT_EQ(times.lastGradientTicks, 200u);
  EXPECT_EQ(times.lastParameter, 0u);
}

// Bucket 0 {2}, ready at 400; bucket 1 {1, 0}, gradients at 100 and 300, ready at 310, launched at
// 410. Parameter 1 waited 310 for parameter 0 and then for bucket 0; parameter 0 waited 110 for
// bucket 0 alone.
TEST(BucketLife, SaysWhatAGradientWaitedFor) {
  HandMadeStep step(1);
  step.bucket({2}).bucket({1, 0});
  step.ready(0, 1, 100).ready(0, 0, 300).ready(0, 2, 399);
  step.launch(0, 0, 400, 401).launch(0, 1, 310, 410);
  const auto orders = readyOrders(step.ranks, 0, &step.layout);
  const auto lives = livesOf(step);
  const auto first = waitOf(orders[0].gradients[0], lives[1].ranks[0]);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->ticks, 310u);
  EXPECT_EQ(first->forParameter, 0u);
  EXPECT_EQ(first->forBucket, 0);
  const auto second = waitOf(orders[0].gradients[1], lives[1].ranks[0]);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->ticks, 110u);
  EXPECT_FALSE(second->forParameter.has_value());
  EXPECT_EQ(second->forBucket, 0);
  EXPECT_FALSE(waitOf(orders[0].gradients[0], BucketTimes{}).has_value());
}

TEST(BucketLife, ReplaysAStepInTheOrderOfTime) {
  using What = ReplayMoment::What;
  HandMadeStep step(2);
  step.bucket({0});
  step.ready(0, 0, 100).launch(0, 0, 110, 120).collective(0, 0, 130, 300, 1);
  step.ready(1, 0, 105);
  const auto moments = replayMoments(readyOrders(step.ranks, 0, &step.layout), livesOf(step));
  std::vector<What> what;
  std::vector<int> rank;
  for (const ReplayMoment& moment : moments) {
    what.push_back(moment.what);
    rank.push_back(moment.rank);
  }
  EXPECT_EQ(what, (std::vector<What>{What::kGradient, What::kGradient, What::kReady,
                                     What::kLaunched, What::kBegan, What::kEnded}));
  EXPECT_EQ(rank, (std::vector<int>{0, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace lockstep::analysis
