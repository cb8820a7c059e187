#include "engine/analysis/TuneBuckets.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

#include "engine/buckets/Assign.h"
#include "tests/engine/analysis/HandMadeStep.h"

namespace lockstep::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

cost::TransferCost costOf(double latencyNs, double nsPerByte) {
  return {latencyNs, nsPerByte, 0};
}

/// From the last gradient to the last bucket's end, one bucket in flight at a time.
double afterLastGradient(const std::vector<TimedGradient>& gradients, const BucketCut& cut,
                         const cost::TransferCost& cost) {
  double end = 0;
  std::size_t next = 0;
  for (const std::size_t count : cut) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      bytes += gradients[next++].bytes;
    }
    end = std::max(end, gradients[next - 1].readyNs) + cost.ns(bytes);
  }
  return end - gradients.back().readyNs;
}

/// Gradients of 100 bytes, `spacing` ticks apart.
std::vector<TimedGradient> evenly(std::size_t count, double spacing) {
  std::vector<TimedGradient> gradients;
  for (std::size_t i = 0; i < count; ++i) {
    gradients.push_back({static_cast<std::uint32_t>(i), 100, spacing * static_cast<double>(i)});
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

TEST(TuneBuckets, TheExactCutIsTheBestOfAllAndTheGreedyOneNoBetter) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<TimedGradient> gradients;
    double ready = 0;
    for (unsigned i = 0; i <= random() % 9; ++i) {
      ready += static_cast<double>(random() % 50);
      gradients.push_back({i, random() % 1000, ready});
    }
    const cost::TransferCost cost = costOf(random() % 60, static_cast<double>(random() % 10) / 50);
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
  const cost::TransferCost cost = costOf(11, 0.01);
  EXPECT_THAT(mgWfbpCut(gradients, cost), ElementsAre(50));
  const BucketCut exact = exactCut(gradients, cost);
  EXPECT_GT(exact.size(), 2u);
  EXPECT_LT(afterLastGradient(gradients, exact, cost),
            afterLastGradient(gradients, {50}, cost) / 2);
}

TEST(TuneBuckets, TheExactCutHasLargeBucketsWhereThereIsTimeLeft) {
  EXPECT_THAT(exactCut(evenly(50, 100), costOf(20, 0.001)), ElementsAre(49, 1));
}

TEST(TuneBuckets, NoBucketOfSeveralGradientsIsLargerThanTheMost) {
  EXPECT_THAT(exactCut(evenly(6, 1), costOf(1000, 0.001)), ElementsAre(6));
  EXPECT_THAT(exactCut(evenly(6, 1), costOf(1000, 0.001), 350), ElementsAre(3, 3));
  EXPECT_THAT(exactCut(evenly(3, 1), costOf(1000, 0.001), 50), ElementsAre(1, 1, 1));
}

TEST(TuneBuckets, MgWfbpSendsAGradientAloneThatIsOverBeforeTheNext) {
  EXPECT_THAT(mgWfbpCut(evenly(4, 100), costOf(20, 0.1)), ElementsAre(1, 1, 1, 1));
}

TEST(TuneBuckets, BytesOfACutAreCapsThatMakeItAgain) {
  std::vector<TimedGradient> gradients;
  std::vector<buckets::TensorSpec> tensors;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < 12; ++i) {
    gradients.push_back({i, 100 + 37 * i % 90, static_cast<double>(i)});
    tensors.push_back({gradients.back().bytes, "float32"});
    order.push_back(i);
  }
  const BucketCut cut{3, 1, 5, 2, 1};
  buckets::BucketCaps caps;
  for (const cost::PlannedBucket& bucket : planOf(gradients, cut)) {
    caps.list.push_back(bucket.bytes);
  }
  const auto plan = buckets::planRebuild(tensors, order, caps);
  BucketCut made;
  for (const auto& bucket : plan.buckets) {
    made.push_back(bucket.parameters.size());
  }
  EXPECT_EQ(made, cut);
}

// Buckets {2 1} and {0} of two ranks; rank 1 has its gradients 5 later, and in the second step all
// are 10 later beside the first.
class TimedGradientsTest : public testing::Test {
 protected:
  TimedGradientsTest() {
    recorded_.parameters.assign(
        3, {.name = "p", .shape = {25}, .dtype = "float32", .numel = 25, .bytes = 100});
    HandMadeStep made(2);
    made.bucket({2, 1}, 200).bucket({0}, 200);
    recorded_.layout = made.layout;
    recorded_.layout.layout = 1;
    for (int number = 0; number < 3; ++number) {
      cost::StepRecord step;
      for (const double late : {0.0, 5.0}) {
        cost::RankStep& rank = step.ranks.emplace_back();
        rank.filledNs = {220 + late, 190 + late, 100 + late};
      }
      step.ranks[1].filledNs[0] += number == 1 ? 10 : 0;
      recorded_.steps.push_back({step, std::nullopt});
    }
  }

  RecordedSteps recorded_;
};

TEST_F(TimedGradientsTest, AreMediansOfTheLastRankInTheOrderOfTheBuckets) {
  const auto gradients = timedGradients(recorded_);
  ASSERT_TRUE(gradients.ok()) << gradients.error().what;
  ASSERT_EQ(gradients.value().size(), 3u);
  EXPECT_EQ(gradients.value()[0].parameter, 2u);
  EXPECT_EQ(gradients.value()[0].readyNs, 5) << "from the first gradient of any rank";
  EXPECT_EQ(gradients.value()[1].readyNs, 95);
  EXPECT_EQ(gradients.value()[2].readyNs, 125) << "not the 135 of one step";
  EXPECT_THAT(ownCut(recorded_.layout), ElementsAre(2, 1));
}

TEST_F(TimedGradientsTest, SayWhyARunCannotBeTunedBy) {
  recorded_.layout.layout = 0;
  EXPECT_THAT(timedGradients(recorded_).error().what,
              HasSubstr("its buckets were never rebuilt in the ready order"));
  recorded_.layout.layout = 1;
  recorded_.layout.buckets[1].dtype = "float16";
  EXPECT_THAT(timedGradients(recorded_).error().what,
              HasSubstr("its gradients are not all dense and of one dtype"));
  recorded_.layout.buckets[1].dtype = "float32";
  recorded_.layout.buckets[1].parameters = {7};
  EXPECT_THAT(timedGradients(recorded_).error().what,
              HasSubstr("its buckets name parameters that the run does not"));
  recorded_.layout.buckets[1].parameters = {0};
  recorded_.steps.clear();
  EXPECT_THAT(timedGradients(recorded_).error().what, HasSubstr("no step was recorded whole"));
}

}  // namespace
}  // namespace lockstep::analysis
