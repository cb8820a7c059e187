#include "engine/trace/Event.h"
#include "ui/views/buckets/BucketStory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/experiment/Parse.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/buckets/BucketRun.h"
#include "ui/views/buckets/BucketFacts.h"
#include "ui/views/buckets/StepSpans.h"

namespace lockstep::ui {
namespace {

class BucketStoryTest : public testing::Test {
 protected:
  BucketStoryTest() { model_.applyUpdate(test::BucketRun().update); }

  RunModel model_;
  BucketStories stories_{model_};
};

TEST_F(BucketStoryTest, CountsTimesFromTheFirstRankThatBeganTheIteration) {
  const auto story = stories_.ofStep(1);
  ASSERT_NE(story, nullptr);
  ASSERT_EQ(story->rankCount(), 2);
  EXPECT_DOUBLE_EQ(story->ns(story->readyOn(0, 3)->ticks), 100e3);
  EXPECT_DOUBLE_EQ(story->ns(story->readyOn(1, 0)->ticks), 450e3);
  EXPECT_DOUBLE_EQ(story->range.startNs, 100e3);
  EXPECT_DOUBLE_EQ(story->range.endNs, 700e3);
  EXPECT_TRUE(story->finished);
}

std::vector<int> ranksOf(const BucketStory& story) {
  std::vector<int> ranks;
  for (const analysis::ReadyOrder& order : story.orders) {
    ranks.push_back(order.rank);
  }
  return ranks;
}

TEST(BucketExamples, OfManyRanksTheFirstTheMiddleAndTheLastToBeReadyOrThoseThatAreShown) {
  RunModel model;
  model.applyUpdate(test::demoRun({.ranks = 11, .steps = 6, .slowRank = 4, .slowFactor = 1.8}));
  BucketStories stories(model);
  const auto story = stories.ofStep(3);
  ASSERT_NE(story, nullptr);
  ASSERT_EQ(story->rankCount(), 3);
  EXPECT_EQ(story->ranksOfRun, 11);
  EXPECT_EQ(ranksOf(*story).back(), 4);
  for (const analysis::BucketLife& life : story->lives) {
    ASSERT_EQ(life.ranks.size(), 3u);
    EXPECT_EQ(life.ranks.back().rank, 4);
  }
  // Later ones wait in the queue of every rank for those before them.
  EXPECT_EQ(story->lives.front().lastRank, 4) << "of all ranks";
  for (const analysis::ReplayMoment& moment : story->moments) {
    EXPECT_NE(std::ranges::count(ranksOf(*story), moment.rank), 0);
  }
  EXPECT_EQ(ranksOf(*stories.ofStep(3, {9, 2})), (std::vector<int>{9, 2}));
  EXPECT_EQ(stories.ofStep(3, {0, 1, 2, 3, 4, 5, 6, 7, 8})->rankCount(), 3);
}

TEST_F(BucketStoryTest, UsesTheLayoutOfItsIteration) {
  EXPECT_EQ(stories_.ofStep(0)->layout.buckets.size(), 1u);
  EXPECT_EQ(stories_.ofStep(1)->layout.buckets.size(), 3u);
}

TEST_F(BucketStoryTest, FindsTheInversionsOfTheRankThatHasThem) {
  const auto story = stories_.ofStep(1);
  EXPECT_EQ(story->orders[0].againstBuckets, 0u);
  EXPECT_EQ(story->orders[1].againstBuckets, 1u) << "parameter 3 of bucket 0 came third";
  EXPECT_TRUE(story->readyOn(1, 3)->againstBuckets);
  EXPECT_EQ(story->orders[1].againstFirstRank, 1u);
}

TEST_F(BucketStoryTest, SaysWhatABucketWaitedFor) {
  const auto story = stories_.ofStep(1);
  const analysis::BucketTimes& stalled = story->lives[1].ranks[1];
  EXPECT_EQ(stalled.stalledBehind, 0);
  EXPECT_EQ(stalled.stallTicks(), 102u);
  EXPECT_EQ(stalled.queuedBehind, 0);
  EXPECT_EQ(story->lives[0].lastRank, 1);
  // Parameter 2 on rank 1: ready at 150, launched at 362.
  EXPECT_EQ(waitText(*story, 2), QStringLiteral("a.bias, then bucket 0: 0.212 ms on rank 1"));
  EXPECT_EQ(waitText(*story, 0), QStringLiteral("nothing: the last of its bucket"));
  EXPECT_EQ(orderText(*story, 3), QStringLiteral("1st, 3rd"));
  EXPECT_EQ(orderText(*story, 0), QStringLiteral("4th"));
}

TEST_F(BucketStoryTest, FindsASpanOfTheIterationAgain) {
  const auto story = stories_.ofStep(1);
  const auto span = findInStep(model_, 1, 1, story->lives[2].ranks[1].collectiveSpan);
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(span->kind, trace::EventKind::kCollective);
  EXPECT_EQ(span->bucket, 2);
  EXPECT_EQ(span->rank(), 1);
  EXPECT_FALSE(findInStep(model_, 0, 1, 9999).has_value());
}

TEST_F(BucketStoryTest, ExplainsACapInWords) {
  const auto story = stories_.ofStep(1);
  EXPECT_EQ(capSentence(*story, 1),
            QStringLiteral("A bucket closes once it holds its cap or more, and a parameter is "
                           "never split: a.bias took it from 100 B to 200 B, 50 B over the cap."));
  EXPECT_TRUE(
      capSentence(*story, 0).endsWith(QStringLiteral("b.bias alone is 100 B, exactly its cap.")));
  EXPECT_EQ(capSentence(*story, 2),
            QStringLiteral("No parameters of its type were left: it stayed 50 B under its cap."));
  EXPECT_TRUE(capSentence(*stories_.ofStep(0), 0)
                  .contains(QStringLiteral("share a bucket until the buckets are rebuilt.")));
}

TEST_F(BucketStoryTest, TellsOfAnIterationThatHasNotEnded) {
  test::BucketRun run;
  run.add(0, trace::EventKind::kGradientReady, 2100, 2100, 2, trace::kNoBucket, 3);
  RunModel model;
  model.applyUpdate(run.update);
  BucketStories stories(model);
  const auto story = stories.ofStep(2);
  EXPECT_FALSE(story->finished);
  EXPECT_FALSE(story->launched());
  EXPECT_NE(story->readyOn(0, 3), nullptr);
  EXPECT_EQ(story->readyOn(1, 3), nullptr);
}

TEST(BucketStories, HaveNothingToTellOfARunWithoutLayouts) {
  RunModel model;
  BucketStories stories(model);
  EXPECT_EQ(stories.ofStep(0), nullptr);
  EXPECT_EQ(stories.preview(true), nullptr);
}

TEST(BucketStories, PreviewTheBucketsFromShapesAndTheExperiment) {
  trace::RunUpdate update = test::BucketRun().update;
  update.layouts.reset();
  update.spans.clear();
  experiment::Experiment experiment;
  experiment.train.steps = 2;
  experiment.ddp.firstBucketMb = 100.0 / (1 << 20);
  experiment.ddp.bucketCapMb = 200.0 / (1 << 20);
  update.info->experimentToml = experiment::toToml(experiment);
  RunModel model;
  model.applyUpdate(update);
  BucketStories stories(model);
  const auto before = stories.preview(false);
  ASSERT_NE(before, nullptr);
  EXPECT_TRUE(before->preview);
  EXPECT_EQ(before->layout.buckets.size(), 1u);
  const auto after = stories.preview(true);
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->layout.buckets.size(), 3u);
  EXPECT_EQ(after->layout.buckets[0].parameters, (std::vector<std::uint32_t>{3}));
  EXPECT_FALSE(after->measured());
}

TEST(TypicalStep, HasRebuiltBucketsAndLaunchedThem) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  const auto step = typicalStep(model);
  ASSERT_TRUE(step.has_value());
  EXPECT_GT(*step, 1u);
  EXPECT_FALSE(typicalStep(RunModel()).has_value());
}

}  // namespace
}  // namespace lockstep::ui
