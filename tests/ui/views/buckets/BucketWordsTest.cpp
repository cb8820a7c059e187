#include <gtest/gtest.h>

#include <algorithm>

#include "engine/experiment/Parse.h"
#include "engine/trace/Event.h"
#include "tests/ui/views/buckets/BucketRun.h"
#include "ui/views/buckets/BucketFacts.h"
#include "ui/views/buckets/BucketStory.h"

namespace lockstep::ui {
namespace {

using Kind = BucketsHit::Kind;

/// What the card of a place says, a fact a line.
std::string told(const BucketStory& story, const BucketsHit& hit) {
  const auto card = describeHit(story, hit);
  QStringList lines{card->title};
  for (const Fact& fact : card->facts) {
    lines << fact.name + QStringLiteral(": ") + fact.value;
  }
  return lines.join(QLatin1Char('\n')).toStdString();
}

bool has(const std::string& text, const char* line) {
  return text.find(line) != std::string::npos;
}

class BucketWords : public testing::Test {
 protected:
  BucketWords() { model_.applyUpdate(test::BucketRun().update); }

  RunModel model_;
  BucketStories stories_{model_};
};

TEST_F(BucketWords, TellABucketItsSizeItsCapAndWhyItEnds) {
  const auto story = stories_.ofStep(1);
  const std::string text = told(*story, {.kind = Kind::kBucket, .bucket = 2});
  EXPECT_EQ(text.substr(0, text.find('\n')), "bucket 2 of 3");
  EXPECT_TRUE(has(text, "No parameters of its type were left: it stayed 50 B under its cap."));
  EXPECT_TRUE(has(told(*story, {.kind = Kind::kFold, .bucket = 1, .parameter = 2, .count = 2}),
                  "2 parameters from b.weight on"));
}

TEST_F(BucketWords, SayOfAJobOfPyTorchThatItsCapsAreNotTold) {
  test::BucketRun run;
  run.update.info->kind = trace::RunKind::kObserved;
  for (auto& layout : *run.update.layouts) {
    for (auto& bucket : layout.buckets) {
      bucket.limitBytes = 0;
    }
  }
  RunModel model;
  model.applyUpdate(run.update);
  const auto story = BucketStories(model).ofStep(1);
  for (const int bucket : {0, 1}) {  // one that stands alone is taken for nothing else
    const std::string text = told(*story, {.kind = Kind::kBucket, .bucket = bucket});
    EXPECT_TRUE(has(text, "The job does not tell the caps of its buckets, so why it ends here is "
                          "not known."))
        << text;
    EXPECT_FALSE(has(text, "none")) << text;
  }
}

// Rank 1 stalled bucket 1 for 102, came last to bucket 0 and queued bucket 1 behind it.
TEST_F(BucketWords, TellTheTimesOfABucketOnARankAndWhomItWaitedFor) {
  const auto story = stories_.ofStep(1);
  const std::string stalled = told(*story, {.kind = Kind::kTimes, .bucket = 1, .rank = 1});
  EXPECT_TRUE(has(stalled, ", stalled 102 µs behind bucket 0 (buckets are launched in order)"))
      << stalled;
  EXPECT_TRUE(has(stalled, ", queued behind that of bucket 0")) << stalled;
  EXPECT_TRUE(
      has(told(*story, {.kind = Kind::kTimes, .bucket = 0, .rank = 1}), "last; the others waited"));
  EXPECT_TRUE(has(told(*story, {.kind = Kind::kTimes, .bucket = 0, .rank = 0}),
                  "waited 250 µs for rank 1"));
  const QString waits = longestWaits(*story, 1, 9).join(QLatin1Char('\n'));
  EXPECT_TRUE(waits.contains("bucket 1 stalled 102 µs behind bucket 0")) << waits.toStdString();
  EXPECT_TRUE(waits.contains("bucket 1 queued 148 µs behind bucket 0")) << waits.toStdString();
  EXPECT_TRUE(longestWaits(*story, 0, 9).contains("bucket 0 waited 250 µs for rank 1"));
}

TEST_F(BucketWords, TellAParameterThatComesOutOfOrder) {
  const auto story = stories_.ofStep(1);
  const std::string text = told(*story, {.kind = Kind::kDot, .parameter = 3});
  EXPECT_TRUE(has(text, "Registered: as 4 of 4"));
  EXPECT_TRUE(has(text, "Ready, rank 0: 0.100 ms\n")) << text;
  EXPECT_TRUE(has(text, ", out of bucket order, another place than on the first rank")) << text;
  const std::string order = told(*story, {.kind = Kind::kOrder, .rank = 0});
  EXPECT_TRUE(has(order, "Registration: in the reverse of the registration")) << order;
  EXPECT_TRUE(
      has(order,
          "Marked are the fewest parameters that would have to move for the others to stand "
          "in order."));
  EXPECT_TRUE(
      has(told(*story, {.kind = Kind::kOrder, .rank = 1}), "1 in another place than on rank 0"));
  EXPECT_EQ(rankSentence(*stories_.ofStep(0), 1), "the same order as rank 0");
}

TEST(BucketWordsOfAnUnfinishedIteration, SayWhatIsMissing) {
  test::BucketRun run;
  run.add(0, trace::EventKind::kGradientReady, 2100, 2100, 2, trace::kNoBucket, 3);
  run.add(0, trace::EventKind::kMarkedUnused, 2110, 2110, 2, trace::kNoBucket, 2);
  RunModel model;
  model.applyUpdate(run.update);
  BucketStories stories(model);
  const auto story = stories.ofStep(2);
  ASSERT_NE(story, nullptr);
  EXPECT_TRUE(has(told(*story, {.kind = Kind::kTimes, .bucket = 0, .rank = 0}),
                  "Launched: not in this iteration"));
  EXPECT_TRUE(has(told(*story, {.kind = Kind::kTimes, .bucket = 2, .rank = 0}),
                  "nothing was recorded in this iteration"));
  EXPECT_TRUE(has(told(*story, {.kind = Kind::kParameter, .parameter = 0}),
                  "no gradient recorded in this iteration"));
  EXPECT_TRUE(has(told(*story, {.kind = Kind::kParameter, .parameter = 2}),
                  ", unused: counted without a gradient"));
  EXPECT_EQ(orderSentence(*story, 1, OrderAgainst::kBuckets), "no gradients recorded");
}

TEST(BucketWordsOfALayout, TellWhatHasNoBucketAndWhatIsSparse) {
  test::BucketRun run;
  auto& buckets = run.update.layouts->back().buckets;
  buckets[0].limitBytes = 0;
  buckets.pop_back();
  RunModel model;
  model.applyUpdate(run.update);
  BucketStories stories(model);
  const auto story = stories.ofStep(1);
  EXPECT_TRUE(has(told(*story, {.kind = Kind::kParameter, .parameter = 0}),
                  "Bucket: none: it is averaged apart"));
  EXPECT_EQ(capSentence(*story, 0),
            "A gradient that is expected to be sparse has a bucket of its own; no cap applies.");
}

TEST(BucketWordsOfALayout, SayThatAPreviewIsComputed) {
  trace::RunUpdate update = test::BucketRun().update;
  update.layouts.reset();
  update.spans.clear();
  experiment::Experiment experiment;
  experiment.train.steps = 2;
  update.info->experimentToml = experiment::toToml(experiment);
  RunModel model;
  model.applyUpdate(update);
  BucketStories stories(model);
  const QString spoken = spokenSummary(*stories.preview(true));
  EXPECT_TRUE(spoken.contains(", computed from shapes.")) << spoken.toStdString();
  EXPECT_EQ(stageName(analysis::BucketStage::kReady), "ready, not launched");
}

TEST(WhyNoBuckets, DependsOnWhatTheRunIsAndHowFarItIs) {
  RunModel model;
  BucketStories stories(model);
  EXPECT_EQ(whyNoBuckets(nullptr, stories),
            "No run is open. Start an experiment or open a run file, and its buckets appear here.");
  const RunModel reading("nowhere.lockstep");
  EXPECT_EQ(whyNoBuckets(&reading, stories), "Reading the run…");
  trace::RunUpdate update;
  update.info.emplace();
  update.info->state = trace::RunState::kRunning;
  model.applyUpdate(update);
  EXPECT_EQ(whyNoBuckets(&model, stories), "Buckets appear after the first backward.");
  trace::RunUpdate observed;
  observed.ranks.emplace();
  observed.ranks->push_back({});
  observed.ranks->front().environment[trace::kNoBuckets] =
      "no DistributedDataParallel was made in this job: it has no buckets";
  RunModel sharded;
  sharded.applyUpdate(observed);
  EXPECT_EQ(whyNoBuckets(&sharded, stories),
            "No DistributedDataParallel was made in this job: it has no buckets.");
  trace::RunUpdate imported;
  imported.info.emplace();
  imported.info->state = trace::RunState::kFinished;
  imported.info->kind = trace::RunKind::kImported;
  RunModel dumps;
  dumps.applyUpdate(imported);
  EXPECT_EQ(whyNoBuckets(&dumps, stories),
            "What was imported does not tell the buckets of DistributedDataParallel.");
  update.info->experimentToml =
      "[processes]\nstrategy = \"data_parallel\"\nworld_size = 1\ndevices = 2\n"
      "[train]\nsteps = 2\n";
  model.applyUpdate(update);
  EXPECT_EQ(whyNoBuckets(&model, stories),
            "DataParallel has no buckets: device 0 sums the gradients of all replicas after the "
            "backward. Run it with processes.strategy = \"ddp\" to see some.");
}

}  // namespace
}  // namespace lockstep::ui
