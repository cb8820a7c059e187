#include "engine/cost/StepChange.h"

#include <gtest/gtest.h>

#include "tests/engine/cost/HandMadeSteps.h"

namespace lockstep::cost {
namespace {

using test::SleepingRun;

TEST(TakeOutTest, MovesWhatComesAfterAndLeavesWhatWasBefore) {
  RankStep rank;
  rank.filledNs = {100, 200, 300};
  rank.lastGradientNs = rank.waitsNs = 300;
  rank.computing = {{0, 120}, {150, 300}};
  rank.endNs = 400;
  takeOut(rank, 200, 60);
  EXPECT_EQ(rank.filledNs, (std::vector<double>{100, 140, 240}));
  EXPECT_EQ(rank.lastGradientNs, 240);
  EXPECT_EQ(rank.waitsNs, 240);
  // What it computed in the time that is gone it does not compute.
  ASSERT_EQ(rank.computing.size(), 2u);
  EXPECT_EQ(rank.computing[0].end, 120);
  EXPECT_EQ(rank.computing[1].begin, 140);
  EXPECT_EQ(rank.computing[1].end, 240);
  EXPECT_EQ(rank.endNs, 400);
}

TEST(TakeOutTest, AddsTimeWhereItIsBelowZero) {
  RankStep rank;
  rank.filledNs = {100, 200};
  rank.computing = {{0, 200}};
  takeOut(rank, 200, -50);
  EXPECT_EQ(rank.filledNs, (std::vector<double>{100, 250}));
  ASSERT_EQ(rank.computing.size(), 1u);
  EXPECT_EQ(rank.computing[0].begin, 0);
  EXPECT_EQ(rank.computing[0].end, 250);
}
// 0..10 computed, 10..12 waited, 12..20 computed: half of it is 0..5, 5..7, 7..11.
TEST(StepChangeTest, ScalesWhatARankComputesAndNotWhatItWaits) {
  StepRecord step;
  RankStep& rank = step.ranks.emplace_back();
  rank.computing = {{0, 10}, {12, 20}};
  rank.filledNs = {6, kNoTime, 16, 20};
  rank.lastGradientNs = 20;
  rank.waitsNs = 21;
  rank.endNs = 30;
  StepChange change;
  change.computeFactor = 0.5;
  const RankStep changed = changedStep(step, change).ranks[0];
  EXPECT_EQ(changed.filledNs[0], 3);
  EXPECT_EQ(changed.filledNs[2], 9);
  EXPECT_EQ(changed.lastGradientNs, 11);
  EXPECT_EQ(changed.waitsNs, 12);
  EXPECT_EQ(changed.computing[1].begin, 7);
  EXPECT_EQ(changed.computing[1].end, 11);
  EXPECT_EQ(changed.endNs, 30) << "what comes after the buckets is for a replay";
}

TEST(StepChangeTest, TakesTheExcessOfOneRankAlone) {
  const StepRecord step = SleepingRun{.lateNs = {0, 3e6}}.steps(1).front();
  StepChange change;
  change.without = RankExcess{1,
                              {{RankExcess::Where::kBegin, 0, {{step.step, 3e6}}},
                               {RankExcess::Where::kEnd, 0, {{step.step, 1e6}}}}};
  const StepRecord changed = changedStep(step, change);
  EXPECT_EQ(changed.ranks[1].filledNs, changed.ranks[0].filledNs);
  EXPECT_EQ(changed.ranks[0].filledNs, step.ranks[0].filledNs);
  EXPECT_EQ(changed.ranks[1].endNs, step.ranks[1].endNs - 1e6);
  change.without->parts[0].nsByStep = {{step.step + 1, 3e6}};
  EXPECT_EQ(changedStep(step, change).ranks[1].filledNs, step.ranks[1].filledNs);
}

TEST(StepChangeTest, AHooksOwnWorkIsTakenFromTheDelaysThatItWasIn) {
  RankHabits own;
  own.startDelayNs = 1500;
  own.resultDelayNs = 300;
  own.copyOutNsPerByte = 2;
  HookWork had;
  had.encode = {200, 1, 0};
  had.decode = {400, 0, 0};
  had.aroundStepNs = 50;
  StepChange change;
  EXPECT_EQ(changedHabits({own}, had, 1000, change)[0].startDelayNs, 1500);
  change.hook = HookWork{};
  change.gradientsAreViews = true;
  const RankHabits changed = changedHabits({own}, had, 1000, change)[0];
  EXPECT_EQ(changed.startDelayNs, 300) << "less 200 and 1000 of the bytes";
  EXPECT_EQ(changed.resultDelayNs, 0);
  EXPECT_EQ(changed.aroundStepNs, -50);
  EXPECT_EQ(changed.copyOutNsPerByte, 0);
}

}  // namespace
}  // namespace lockstep::cost
