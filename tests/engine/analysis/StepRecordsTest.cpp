#include "engine/analysis/StepRecords.h"

#include <gmock/gmock.h>

#include <cmath>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeStep.h"

namespace lockstep::analysis {
namespace {

using testing::HasSubstr;
using trace::EventKind;

// Two ranks, rank 1 five ticks later; two ticks are a ns. The backward goes on from 80 to 320, and
// its copies take 4 ticks each. Buckets {2 1} and {0}; waiting from 230 on; the second one's result
// is copied from 290 to 300.
class StepRecordsTest : public testing::Test {
 protected:
  StepRecordsTest() : made_(2) {
    made_.bucket({2, 1}, 200).bucket({0}, 200);
    made_.layout.layout = 1;
    for (int rank = 0; rank < 2; ++rank) {
      const auto late = static_cast<std::uint64_t>(5 * rank);
      made_.add(rank, EventKind::kStep, 10, 400, trace::kNoBucket);
      made_.add(rank, EventKind::kForward, 20, 80, trace::kNoBucket);
      made_.add(rank, EventKind::kBackward, 80, 320, trace::kNoBucket);
      for (const auto& [parameter, at] :
           {std::pair<std::uint32_t, std::uint64_t>{2, 100}, {1, 190}, {0, 220}}) {
        made_.ready(rank, parameter, at + late);
        made_.add(rank, EventKind::kCopyIn, at + late, at + late + 4, parameter == 0 ? 1 : 0,
                  parameter);
      }
      made_.launch(rank, 0, 194 + late, 195 + late).collective(rank, 0, 200 + late, 255, 1);
      made_.launch(rank, 1, 224 + late, 225 + late).collective(rank, 1, 230 + late, 285, 2);
      made_.add(rank, EventKind::kFinalize, 230, 320, trace::kNoBucket);
      made_.add(rank, EventKind::kCopyOut, 260, 270, 0);
      made_.add(rank, EventKind::kCopyOut, 290, 300, 1);
    }
  }

  base::Result<cost::StepRecord> record() {
    const auto orders = readyOrders(made_.ranks, 0, &made_.layout);
    const auto lives = bucketLives(made_.ranks, 0, made_.layout, orders);
    return stepRecord(made_.ranks, 0, made_.layout, orders, lives, {10, 0.5});
  }

  static double computingNs(const cost::RankStep& rank) {
    double sum = 0;
    for (const cost::Stretch& stretch : rank.computing) {
      sum += stretch.end - stretch.begin;
    }
    return sum;
  }

  HandMadeStep made_;
};

TEST_F(StepRecordsTest, TakesWhatAReplayNeeds) {
  const auto made = record();
  ASSERT_TRUE(made.ok()) << made.error().what;
  const cost::RankStep& rank = made.value().ranks[1];
  EXPECT_EQ(rank.beginNs, 0);
  EXPECT_EQ(rank.endNs, 195);
  EXPECT_EQ(rank.lastGradientNs, 107.5);
  EXPECT_EQ(rank.waitsNs, 110);
  ASSERT_EQ(rank.filledNs.size(), 3u);
  EXPECT_EQ(rank.filledNs[2], 49.5) << "ready at 105, copied until 109";
  ASSERT_EQ(made.value().buckets.size(), 2u);
  EXPECT_EQ(made.value().buckets[0].bytes, 200u);
  const cost::BucketPart& part = made.value().buckets[1].parts[1];
  EXPECT_EQ(part.launchedNs, 110);
  EXPECT_EQ(part.beganNs, 112.5);
  EXPECT_EQ(part.endedNs, 137.5);
  EXPECT_EQ(part.copyOutNs, 140);
  EXPECT_EQ(part.copiedOutNs, 145);
}

// 20..80 is the forward, 80..225 the backward until the last gradient, without the copies of
// 105..109 and 195..199.
TEST_F(StepRecordsTest, ComputingEndsWithTheLastGradientAndIsNotCopying) {
  const auto made = record();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(computingNs(made.value().ranks[1]), (225 - 20 - 8) / 2.0);
  EXPECT_EQ(made.value().ranks[1].computing.back().end, 107.5);
}

// Of the window from 120 to 160 it waited 5 ns, 10 ticks, for a core.
TEST_F(StepRecordsTest, WaitingForACoreIsNoComputing) {
  made_.add(1, EventKind::kOffCore, 120, 160, trace::kNoBucket, 5);
  const auto made = record();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(computingNs(made.value().ranks[1]), (225 - 20 - 8 - 10) / 2.0);
}

TEST_F(StepRecordsTest, AWholeBucketsCopyIsATimeAByte) {
  for (RankSpans& rank : made_.ranks) {
    std::erase_if(rank.spans, [](const auto& span) { return span.kind == EventKind::kCopyIn; });
  }
  made_.add(0, EventKind::kCopyIn, 190, 210, 0, 200);
  made_.ranks[0].spans.back().detail = trace::kWholeBucket;
  const auto made = record();
  ASSERT_TRUE(made.ok());
  EXPECT_DOUBLE_EQ(made.value().ranks[0].wholeCopyNsPerByte, 0.05);
  EXPECT_EQ(made.value().ranks[0].filledNs[1], 90) << "when it is ready";
}

TEST_F(StepRecordsTest, OnlyWholeStepsAreTaken) {
  auto& spans = made_.ranks[1].spans;
  const auto whole = spans;
  const auto without = [&](EventKind kind) {
    spans = whole;
    std::erase_if(spans, [&](const auto& span) { return span.kind == kind; });
    const auto made = record();
    return made.ok() ? "whole" : made.error().what;
  };
  EXPECT_THAT(without(EventKind::kStep), HasSubstr("no end of this iteration"));
  EXPECT_THAT(without(EventKind::kGradientReady), HasSubstr("no gradients in it"));
  EXPECT_THAT(without(EventKind::kCollective),
              HasSubstr("not every rank recorded the communication of every bucket"));
  EXPECT_THAT(without(EventKind::kBucketLaunched), HasSubstr("every gradient and bucket"));
  EXPECT_EQ(without(EventKind::kCopyOut), "whole");
}

// HandMadeStep's collectives carry 100 bytes.
TEST_F(StepRecordsTest, SettingsTellTheCostOfOneAllreduceABucketOfTheSameShare) {
  EXPECT_FALSE(allreducedShare(made_.ranks, 0, made_.layout)) << "half of one, all of the other";
  made_.layout.buckets[1].bytes = 200;
  EXPECT_EQ(allreducedShare(made_.ranks, 0, made_.layout), 0.5);
  made_.collective(0, 1, 286, 290, 3);
  EXPECT_FALSE(allreducedShare(made_.ranks, 0, made_.layout)) << "two calls";
  made_.ranks[0].spans.pop_back();
  made_.collective(0, 1, 286, 290, 3, trace::Operation::kAllgather);
  EXPECT_FALSE(allreducedShare(made_.ranks, 0, made_.layout)) << "another operation";
  made_.ranks[1].spans.clear();
  made_.ranks[0].spans.pop_back();
  EXPECT_FALSE(allreducedShare(made_.ranks, 0, made_.layout)) << "a rank without";
}

}  // namespace
}  // namespace lockstep::analysis
