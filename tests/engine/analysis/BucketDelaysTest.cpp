#include "engine/analysis/BucketDelays.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/ArrivingRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::Operation;

double of(const BucketCell& cell, std::uint32_t step, BucketMeasure measure) {
  const BucketSample* sample = cell.at(step);
  return sample == nullptr ? -1 : sample->of(measure).value_or(-1);
}

// Two ranks, one collective for bucket 3 in step 1, in ms:
//
//   rank 0   backward 0 ............ 6     collective 4 ............ 10
//   rank 1   backward 0 ........................ 8  collective 7 ... 10
//
// Rank 0 came first, 3 ms before rank 1, and waited 3; both moved data from 7 to 10. Rank 0
// computed until 6: exposed 10 - 6 = 4. Rank 1 computed until 8: exposed 10 - 8 = 2.
HandMadeRun oneBucket() {
  HandMadeRun run(2);
  run.add(0, EventKind::kStep, 0, 12'000, 1);
  run.add(1, EventKind::kStep, 0, 12'000, 1);
  run.add(0, EventKind::kBackward, 0, 6'000, 1);
  run.add(1, EventKind::kBackward, 0, 8'000, 1);
  run.addCollective(0, 4'000, 10'000, 7, 1);
  run.addCollective(1, 7'000, 10'000, 7, 1);
  return run;
}

TEST(BucketDelaysTest, MeasuresABucketOnEachRank) {
  const HandMadeRun run = oneBucket();
  const BucketDelays delays = bucketDelays(run.data(), analyse(run.data()));
  EXPECT_EQ(delays.ranks, (std::vector<int>{0, 1}));
  ASSERT_EQ(delays.buckets, 4);
  const BucketCell& first = delays.cell(0, 3);
  const BucketCell& last = delays.cell(1, 3);
  EXPECT_EQ(of(first, 1, BucketMeasure::kLateness), 0);
  EXPECT_EQ(of(last, 1, BucketMeasure::kLateness), 3);
  EXPECT_EQ(of(first, 1, BucketMeasure::kWaiting), 3);
  EXPECT_EQ(of(last, 1, BucketMeasure::kWaiting), 0);
  EXPECT_EQ(of(first, 1, BucketMeasure::kTransfer), 3);
  EXPECT_EQ(of(last, 1, BucketMeasure::kTransfer), 3);
  EXPECT_EQ(of(first, 1, BucketMeasure::kExposed), 4);
  EXPECT_EQ(of(last, 1, BucketMeasure::kExposed), 2);
  EXPECT_EQ(first.at(1)->span, 4u) << "what a click selects";
  EXPECT_EQ(first.at(2), nullptr);
  EXPECT_TRUE(delays.cell(0, 0).samples.empty()) << "no collective of bucket 0";
  EXPECT_EQ(delays.cell(0, 0).medianMs[0], std::nullopt);
}

TEST(BucketDelaysTest, MediansLeaveOutTheWarmUpAndTheWorstIsNamed) {
  HandMadeRun run(2);
  // Step 0 is warm-up; rank 1 comes 50 ms late in it, then 1, 5 and 2 ms.
  const std::uint64_t late[] = {50'000, 1'000, 5'000, 2'000};
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::uint64_t begin = 100'000 * step;
    run.addCollective(0, begin, begin + 60'000, step, step);
    run.addCollective(1, begin + late[step], begin + 60'000, step, step);
  }
  const BucketDelays delays = bucketDelays(run.data(), analyse(run.data()));
  const BucketCell& cell = delays.cell(1, 3);
  EXPECT_EQ(cell.samples.size(), 4u);
  EXPECT_EQ(cell.measuredSteps, 3u);
  const auto lateness = static_cast<std::size_t>(BucketMeasure::kLateness);
  EXPECT_EQ(cell.medianMs[lateness], 2);
  ASSERT_TRUE(cell.worst[lateness].has_value());
  EXPECT_EQ(cell.samples[*cell.worst[lateness]].step, 2u);
}

TEST(BucketDelaysTest, AddsUpTheCollectivesOfAHookThatMakesTwo) {
  HandMadeRun run = oneBucket();
  run.addCollective(0, 10'000, 11'000, 8, 1);
  run.addCollective(1, 10'500, 11'000, 8, 1);
  const BucketDelays delays = bucketDelays(run.data(), analyse(run.data()));
  EXPECT_EQ(of(delays.cell(0, 3), 1, BucketMeasure::kWaiting), 3.5);
  EXPECT_EQ(of(delays.cell(0, 3), 1, BucketMeasure::kTransfer), 3.5);
  EXPECT_EQ(of(delays.cell(1, 3), 1, BucketMeasure::kLateness), 3) << "of the first of the two";
  EXPECT_EQ(of(delays.cell(0, 3), 1, BucketMeasure::kExposed), 5);
}

TEST(BucketDelaysTest, KnowsOnlyWhatIsExposedWhereRanksTalkInPairsOrOneIsMissing) {
  HandMadeRun pairs(2);
  pairs.addCollective(0, 0, 2'000, 1, 1, Operation::kSend);
  pairs.addCollective(1, 0, 3'000, 1, 1, Operation::kRecv);
  const BucketDelays inPairs = bucketDelays(pairs.data(), analyse(pairs.data()));
  EXPECT_EQ(inPairs.cell(1, 3).at(1)->of(BucketMeasure::kWaiting), std::nullopt);
  EXPECT_EQ(of(inPairs.cell(1, 3), 1, BucketMeasure::kExposed), 3);

  HandMadeRun missing(3);
  for (int rank = 0; rank < 3; ++rank) {
    missing.addCollective(rank, 0, 1'000, 1, 1);
    if (rank != 2) missing.addCollective(rank, 2'000, 3'000, 2, 2);  // dropped on rank 2
  }
  const BucketDelays delays = bucketDelays(missing.data(), analyse(missing.data()));
  EXPECT_EQ(delays.cell(0, 3).at(2)->of(BucketMeasure::kLateness), std::nullopt);
  EXPECT_EQ(of(delays.cell(0, 3), 1, BucketMeasure::kLateness), 0);
}

/// Transfers are longer than all of the backward: that they cost beyond chance is told by all steps
/// together.
HandMadeRun muchToTransfer() {
  HandMadeRun run = trained(5, 300);
  for (trace::SpanRow& span : run.spans) {
    const bool transfer = span.kind == EventKind::kCollective && span.bucket == 0;
    span.durationTicks = transfer ? 33'000 : span.durationTicks;
  }
  return run;
}

TEST(BucketDelaysTest, CostsAreOfASlowLinkWhereAllStepsTellIt) {
  HandMadeRun run = muchToTransfer();
  const BucketCost shaped = *bucketDelays(run.data(), analyse(run.data())).costs.most();
  EXPECT_EQ(shaped.worst.cause, TailCause::kSlowLink) << "its spans of a link stand beside them";
  EXPECT_TRUE(shaped.worst.telling);
  std::erase_if(run.spans, [](const auto& span) { return span.kind == EventKind::kShaped; });
  const BucketCost within = *bucketDelays(run.data(), analyse(run.data())).costs.most();
  EXPECT_EQ(within.worst.cause, TailCause::kMuchTransfer);
  EXPECT_TRUE(within.worst.telling);
  EXPECT_NEAR(within.share, shaped.share, 0.05);
}

TEST(BucketDelaysTest, FindsTheStepsOnTheWayAsTheyAreByThemselves) {
  HandMadeRun run = muchToTransfer();
  run.add(3, EventKind::kForward, 301 * kStepTicks, 302 * kStepTicks, 301);
  const RunData data = run.data();
  const RunAnalysis analysis = analyse(data);
  const StepsAndDelays found = stepsAndDelays(data, analysis);
  EXPECT_EQ(found.steps, rankStepOverlaps(data, analysis));
  EXPECT_TRUE(std::ranges::any_of(found.steps.at(4), [](const StepOverlap& step) {
    return std::ranges::any_of(step.tail, &TailItem::telling);
  }));
  const BucketDelays alone = bucketDelays(data, analysis);
  EXPECT_EQ(found.delays.ranks, (std::vector<int>{0, 1, 2, 3, 4}));
  ASSERT_EQ(found.delays.cells.size(), alone.cells.size());
  for (std::size_t i = 0; i < alone.cells.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(found.delays.cells[i].samples, alone.cells[i].samples));
    EXPECT_EQ(found.delays.cells[i].medianMs, alone.cells[i].medianMs);
  }
  for (const int rank : alone.ranks) {
    EXPECT_EQ(found.delays.costs.steps(rank), 299u);
    EXPECT_EQ(found.delays.costs.meanMs(rank, 0), alone.costs.meanMs(rank, 0));
  }
}

TEST(BucketDelaysTest, IsEmptyWithoutBuckets) {
  EXPECT_TRUE(bucketDelays(RunData(), RunAnalysis()).empty());
}

}  // namespace
}  // namespace lockstep::analysis
