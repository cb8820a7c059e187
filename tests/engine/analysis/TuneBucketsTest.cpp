#include "engine/analysis/TuneBuckets.h"

#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "engine/buckets/Assign.h"
#include "tests/engine/analysis/HandMadeStep.h"

namespace lockstep::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CommunicationCost costOf(double latencyTicks, double ticksPerByte) {
  CommunicationCost cost;
  cost.latencyTicks = latencyTicks;
  cost.ticksPerByte = ticksPerByte;
  return cost;
}

/// Gradients of 100 bytes, `spacing` ticks apart.
std::vector<TimedGradient> evenly(std::size_t count, double spacing) {
  std::vector<TimedGradient> gradients;
  for (std::size_t i = 0; i < count; ++i) {
    gradients.push_back({100, spacing * static_cast<double>(i)});
  }
  return gradients;
}

/// Bit i of `word`: a bucket ends after gradient i.
BucketCut cutOf(unsigned word, std::size_t count) {
  BucketCut cut;
  std::size_t open = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ++open;
    if (i + 1 == count || (word >> i & 1) != 0) {
      cut.push_back(open);
      open = 0;
    }
  }
  return cut;
}

TEST(TuneBuckets, SaysWhenTheLastBucketEnds) {
  // {0 1}: full at 10, 20 + 0.1 * 200 later at 50; {2}: ready at 20, waits, 30 later at 80.
  EXPECT_EQ(afterLastGradient(evenly(3, 10), {2, 1}, costOf(20, 0.1)), 60);
  // {0}: 30; {1 2}: full at 20, waits, 40 later at 70.
  EXPECT_EQ(afterLastGradient(evenly(3, 10), {1, 2}, costOf(20, 0.1)), 50);
}

TEST(TuneBuckets, TheExactCutIsTheBestOfAllAndTheGreedyOneNoBetter) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<TimedGradient> gradients;
    double ready = 0;
    for (unsigned i = 0; i <= random() % 9; ++i) {
      ready += static_cast<double>(random() % 50);
      gradients.push_back({random() % 1000, ready});
    }
    const CommunicationCost cost = costOf(random() % 60, static_cast<double>(random() % 10) / 50);
    double best = std::numeric_limits<double>::infinity();
    for (unsigned word = 0; word < 1U << (gradients.size() - 1); ++word) {
      best = std::min(best, afterLastGradient(gradients, cutOf(word, gradients.size()), cost));
    }
    EXPECT_NEAR(afterLastGradient(gradients, exactCut(gradients, cost), cost), best, 1e-9);
    EXPECT_GE(afterLastGradient(gradients, mgWfbpCut(gradients, cost), cost), best - 1e-9);
  }
}

TEST(TuneBuckets, MgWfbpMergesAllWhereGradientsComeMoreDenselyThanALatency) {
  const auto gradients = evenly(50, 10);
  const CommunicationCost cost = costOf(11, 0.01);
  EXPECT_THAT(mgWfbpCut(gradients, cost), ElementsAre(50));
  const BucketCut exact = exactCut(gradients, cost);
  EXPECT_GT(exact.size(), 2u);
  EXPECT_LT(afterLastGradient(gradients, exact, cost),
            afterLastGradient(gradients, {50}, cost) / 2);
}

TEST(TuneBuckets, TheExactCutHasLargeBucketsWhereThereIsTimeLeft) {
  EXPECT_THAT(exactCut(evenly(50, 100), costOf(20, 0.001)), ElementsAre(49, 1));
}

TEST(TuneBuckets, MgWfbpSendsAGradientAloneThatIsOverBeforeTheNext) {
  EXPECT_THAT(mgWfbpCut(evenly(4, 100), costOf(20, 0.1)), ElementsAre(1, 1, 1, 1));
}

TEST(TuneBuckets, BytesOfACutAreCapsThatMakeItAgain) {
  std::vector<TimedGradient> gradients;
  std::vector<buckets::TensorSpec> tensors;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < 12; ++i) {
    gradients.push_back({100 + 37 * i % 90, static_cast<double>(i)});
    tensors.push_back({gradients.back().bytes, "float32"});
    order.push_back(i);
  }
  const BucketCut cut{3, 1, 5, 2, 1};
  buckets::BucketCaps caps;
  caps.list = bytesOf(gradients, cut);
  const auto plan = buckets::planRebuild(tensors, order, caps);
  BucketCut made;
  for (const auto& bucket : plan.buckets) {
    made.push_back(bucket.parameters.size());
  }
  EXPECT_EQ(made, cut);
}

// Buckets {2 1} and {0} of two ranks; rank 1 has its gradients 5 later. Both move once it has come:
// the first from 205 to 255, the second, which came at 235, only after it, to 285.
class TimelineTest : public testing::Test {
 protected:
  TimelineTest()
      : made_(2),
        parameters_(3,
                    {.name = "p", .shape = {25}, .dtype = "float32", .numel = 25, .bytes = 100}) {
    made_.bucket({2, 1}, 200).bucket({0}, 200);
    made_.layout.layout = 1;
    for (int rank = 0; rank < 2; ++rank) {
      const auto late = static_cast<std::uint64_t>(5 * rank);
      made_.ready(rank, 2, 100 + late).ready(rank, 1, 190 + late).ready(rank, 0, 220 + late);
      made_.launch(rank, 0, 191 + late, 195 + late).collective(rank, 0, 200 + late, 255, 1);
      made_.launch(rank, 1, 221 + late, 225 + late).collective(rank, 1, 230 + late, 285, 2);
    }
  }
  base::Result<GradientTimeline> timeline() {
    return gradientTimeline({{0, made_.ranks}}, made_.layout, parameters_);
  }

  HandMadeStep made_;
  std::vector<trace::ParametersMessage::Parameter> parameters_;
};

TEST_F(TimelineTest, TakesGradientsOfTheLastRankAndTimesWithoutQueues) {
  const auto made = timeline();
  ASSERT_TRUE(made.ok()) << made.error().message();
  ASSERT_EQ(made.value().gradients.size(), 3u);
  EXPECT_EQ(made.value().gradients[0].readyTicks, 5) << "from the first gradient of any rank";
  EXPECT_EQ(made.value().gradients[1].readyTicks, 95);
  EXPECT_EQ(made.value().gradients[2].readyTicks, 125);
  EXPECT_THAT(made.value().cut, ElementsAre(2, 1));
  ASSERT_EQ(made.value().samples.size(), 2u);
  EXPECT_EQ(made.value().samples[0].ticks, 50);
  EXPECT_EQ(made.value().samples[1].ticks, 30) << "not the 50 since it had come";
  EXPECT_EQ(made.value().afterTicks, 60);
  EXPECT_EQ(made.value().steps, 1u);
}

TEST_F(TimelineTest, SaysWhyARunCannotBeTunedBy) {
  made_.layout.layout = 0;
  EXPECT_THAT(timeline().error().message(), HasSubstr("never rebuilt"));
  made_.layout.layout = 1;
  made_.layout.buckets[1].dtype = "float16";
  EXPECT_THAT(timeline().error().message(), HasSubstr("of one dtype"));
  made_.layout.buckets[1].dtype = "float32";
  made_.ranks[1].spans.clear();
  EXPECT_THAT(timeline().error().message(), HasSubstr("no step was recorded whole"));
}

}  // namespace
}  // namespace lockstep::analysis
