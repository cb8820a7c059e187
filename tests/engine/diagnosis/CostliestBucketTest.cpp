#include "engine/diagnosis/CostliestBucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/analysis/RunAnalysis.h"
#include "engine/base/NumberText.h"
#include "engine/diagnosis/Diagnose.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/ArrivingRun.h"

namespace lockstep::diagnosis {
namespace {

using analysis::HandMadeRun;
using analysis::TailCause;
using testing::EndsWith;
using testing::HasSubstr;
using trace::EventKind;

constexpr std::uint32_t kSteps = 41;  // one of them is warm-up

/// When the ranks come to bucket 3 of a step, and when it ends, in ms after the step's start.
struct Times {
  double first = 0;
  double second = 0;
  double end = 0;
};

/// Two ranks whose steps take 100 ms and compute until 50 ms in them.
HandMadeRun runOf(const std::function<Times(std::uint32_t step)>& timesOf,
                  std::uint32_t steps = kSteps) {
  HandMadeRun run(2);
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint64_t begin = 100'000ULL * step;
    const Times times = timesOf(step);
    const auto at = [&](double ms) { return begin + static_cast<std::uint64_t>(ms * 1000); };
    for (int rank = 0; rank < 2; ++rank) {
      run.add(rank, EventKind::kStep, begin, begin + 100'000, step);
      run.add(rank, EventKind::kBackward, begin, begin + 50'000, step);
      run.addCollective(rank, at(rank == 0 ? times.first : times.second), at(times.end), step,
                        step);
    }
  }
  return run;
}

BucketVerdict verdictOf(const HandMadeRun& run) {
  const analysis::RunData data = run.data();
  const analysis::RunAnalysis analysis = analysis::analyse(data);
  return bucketVerdict(analysis::bucketDelays(data, analysis), analysis);
}

TEST(CostliestBucketTest, NamesTheRankThatIsWaitedForAndHowOften) {
  // Rank 1 comes 20 ms late in three of four steps, and is the first in the others.
  const BucketVerdict verdict = verdictOf(runOf([](std::uint32_t step) {
    return step % 4 == 0 ? Times{51, 50, 54} : Times{50, 70, 73};
  }));
  ASSERT_TRUE(verdict.costliest.has_value());
  EXPECT_EQ(verdict.costliest->rank, 0);
  EXPECT_EQ(verdict.costliest->bucket, 3);
  EXPECT_EQ(verdict.costliest->worst.cause, TailCause::kLateRank);
  // 30 steps of 23 ms, 10 of 3 ms.
  EXPECT_NEAR(verdict.costliest->ms, 18, 1e-3);
  EXPECT_EQ(textOf(verdict),
            "Bucket 3 costs most, 18.00 ms a step (mean) on rank 0, because rank 1 is late, in 30 "
            "of 40 iterations");
}

TEST(CostliestBucketTest, AccusesNobodyWhereRanksTakeTurns) {
  const BucketVerdict verdict = verdictOf(runOf([](std::uint32_t step) {
    return step % 2 == 0 ? Times{70, 50, 73} : Times{50, 70, 73};
  }));
  ASSERT_TRUE(verdict.costliest.has_value());
  EXPECT_THAT(textOf(verdict), EndsWith(", because ranks take turns being last"));
}

TEST(CostliestBucketTest, WhereTheClocksOrTheStepsCannotTellItSaysNoMoreThanThatItWaits) {
  analysis::BucketCost cost;
  cost.share = 1;
  cost.worst.cause = TailCause::kUnevenRanks;
  cost.worst.peer = analysis::kUnclearRank;
  EXPECT_EQ(reasonText(cost), ", because it waits for other ranks");
  cost.worst.peer = 1;
  cost.worst.judged = false;
  EXPECT_EQ(reasonText(cost), ", because it waits for other ranks");
}

// Note [Tail] cannot divide a transfer of a bucket that has no record of when it was ready.
TEST(CostliestBucketTest, GivesNoReasonOfATransferOfWhichNothingElseIsKnown) {
  for (const Times& times : {Times{50, 50, 80}, Times{20, 48, 80}}) {
    const BucketVerdict verdict = verdictOf(runOf([&](std::uint32_t) { return times; }));
    EXPECT_EQ(textOf(verdict), "Bucket 3 costs most, up to 30.00 ms a step (mean) on each rank");
  }
}

TEST(CostliestBucketTest, SinglesNoRankOutWhereItCostsEachAboutAsMuch) {
  const auto costing = [](double first, double second) {
    std::vector<analysis::StepOverlap> steps(2);
    for (int rank = 0; rank < 2; ++rank) {
      analysis::TailItem item;
      item.bucket = 0;
      item.ms = rank == 0 ? first : second;
      steps[static_cast<std::size_t>(rank)].times.rank = rank;
      steps[static_cast<std::size_t>(rank)].tail = {item};
    }
    analysis::BucketCosts costs;
    costs.add(steps, 0);
    return textOf({.costliest = costs.most(), .steps = 40, .canTell = true});
  };
  EXPECT_EQ(costing(19.5, 20), "Bucket 0 costs most, up to 20.00 ms a step (mean) on each rank");
  EXPECT_EQ(costing(15, 20), "Bucket 0 costs most, 20.00 ms a step (mean) on rank 1");
}

TEST(CostliestBucketTest, NamesTheTwoLargestReasonsWhereNoneIsHalfOfTheCost) {
  // Of 20 ms a step 8 are for rank 1, 6 for rank 2 and 6 unknown.
  std::vector<analysis::StepOverlap> steps(4);
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    steps[step].times.step = step;
    for (const auto& [cause, peer, ms] :
         {std::tuple(TailCause::kLateRank, 1, 8.0), std::tuple(TailCause::kLateRank, 2, 6.0),
          std::tuple(TailCause::kUnknown, -1, 6.0)}) {
      analysis::TailItem item;
      item.cause = cause;
      item.peer = peer;
      item.bucket = 0;
      item.ms = ms;
      steps[step].tail.push_back(item);
    }
  }
  analysis::BucketCosts costs;
  costs.add(steps, 0);
  const auto most = costs.most();
  ASSERT_TRUE(most.has_value());
  EXPECT_EQ(most->ms, 20);
  EXPECT_EQ(most->worst.peer, 1);
  EXPECT_EQ(most->share, 0.4);
  EXPECT_EQ(reasonText(*most),
            ", for several reasons: rank 1 is late (40 %), rank 2 is late (30 %)");
}

TEST(CostliestBucketTest, NamesNoBucketWithinChance) {
  // 1 ms of 100 is below the share of a step that is spoken of.
  const BucketVerdict small = verdictOf(runOf([](std::uint32_t) { return Times{49, 49, 51}; }));
  EXPECT_FALSE(small.costliest.has_value());
  EXPECT_EQ(textOf(small),
            "No bucket stands out: none costs more than 3 % of a step beyond chance");
  // A single step of 40 ms tells nothing about the others.
  const BucketVerdict once = verdictOf(runOf([](std::uint32_t step) {
    return step == 20 ? Times{50, 50, 90} : Times{40, 40, 50};
  }));
  EXPECT_FALSE(once.costliest.has_value());
}

TEST(CostliestBucketTest, SaysThatTooFewIterationsCannotTell) {
  const BucketVerdict verdict = verdictOf(runOf(
      [](std::uint32_t) {
        return Times{50, 70, 73};
      },
      5));
  EXPECT_FALSE(verdict.canTell);
  EXPECT_EQ(textOf(verdict),
            "Which bucket costs most this run cannot tell: 4 iterations of a bucket are measured, "
            "and 8 are needed to tell a cost from chance");
}

/// Two ranks whose steps of 100 ms compute until 50 ms in them, and two buckets that are in flight
/// together: bucket 4 begins a little after bucket 3 and ends after it, so that more of it is
/// exposed, and bucket 3 has nearly all of the time.
HandMadeRun besideEachOther() {
  HandMadeRun run(2);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const std::uint64_t begin = 100'000ULL * step;
    for (int rank = 0; rank < 2; ++rank) {
      run.add(rank, EventKind::kStep, begin, begin + 100'000, step);
      run.add(rank, EventKind::kBackward, begin, begin + 50'000, step);
      run.addCollective(rank, begin + 52'000, begin + 90'000, 2 * step, step);
      run.addCollective(rank, begin + 53'000, begin + 95'000, 2 * step + 1, step);
      run.spans.back().bucket = 4;
    }
  }
  return run;
}

/// The same with bucket 5 in every fourth step, in which it costs more than the others.
HandMadeRun seldom() {
  HandMadeRun run = besideEachOther();
  for (std::uint32_t step = 0; step < kSteps; step += 4) {
    for (int rank = 0; rank < 2; ++rank) {
      run.addCollective(rank, 100'000ULL * step + 5'000, 100'000ULL * step + 97'000, step / 4, step,
                        trace::Operation::kAllreduce, 1);
      run.spans.back().bucket = 5;
    }
  }
  return run;
}

TEST(CostliestBucketTest, CountsEachMomentOfBucketsThatAreInFlightTogetherOnce) {
  const HandMadeRun run = besideEachOther();
  const analysis::RunData data = run.data();
  const analysis::BucketDelays delays = analysis::bucketDelays(data, analysis::analyse(data));
  const auto median = [&](int bucket, analysis::BucketMeasure measure) {
    return delays.cell(0, bucket).medianMs[static_cast<std::size_t>(measure)].value_or(-1);
  };
  EXPECT_NEAR(median(3, analysis::BucketMeasure::kExposed), 38, 1e-3);
  EXPECT_NEAR(median(4, analysis::BucketMeasure::kExposed), 42, 1e-3);
  EXPECT_NEAR(median(3, analysis::BucketMeasure::kCost), 38, 1e-3);
  EXPECT_NEAR(median(4, analysis::BucketMeasure::kCost), 5, 1e-3);
  EXPECT_NEAR(delays.costs.meanMs(0, 4).value_or(-1), 5, 1e-3);
  EXPECT_EQ(delays.costs.meanMs(7, 4), std::nullopt) << "there is no rank 7";
  EXPECT_EQ(verdictOf(run).costliest->bucket, 3);
}

TEST(CostliestBucketTest, TheCostOfABucketThatIsSeldomIsOverAllSteps) {
  const HandMadeRun run = seldom();
  const analysis::RunData data = run.data();
  const analysis::BucketDelays delays = analysis::bucketDelays(data, analysis::analyse(data));
  // 10 of 40 measured steps, in which it began before all others: 47 ms.
  EXPECT_NEAR(delays.costs.meanMs(0, 5).value_or(-1), 47.0 / 4, 1e-3);
  EXPECT_EQ(delays.cell(0, 5).measuredSteps, 10u);
}

/// More to transfer over a link than the backward can hide, in each step.
HandMadeRun overASlowLink() {
  HandMadeRun run = analysis::trained(3, 200);
  for (trace::SpanRow& span : run.spans) {
    if (span.kind == EventKind::kCollective && span.bucket == 0) {
      span.durationTicks = 33'000;
    }
  }
  return run;
}

// Whoever says which bucket costs most says the same.
TEST(CostliestBucketTest, TheVerdictNamesTheSameBucketWithTheSameFigureAndReason) {
  HandMadeRun trained = analysis::trained(3, 200);
  analysis::arrive(trained);
  std::size_t named = 0;
  std::size_t explained = 0;
  for (const HandMadeRun& run :
       {trained, besideEachOther(), seldom(), overASlowLink(), runOf([](std::uint32_t step) {
          return step % 4 == 0 ? Times{51, 50, 54} : Times{50, 70, 73};
        }),
        runOf([](std::uint32_t) {
          return Times{20, 48, 80};
        })}) {
    Recording recording;
    recording.data = run.data();
    const Evidence evidence = evidenceOf(recording, "run.lockstep");
    const BucketVerdict verdict =
        bucketVerdict(analysis::bucketDelays(evidence.data, evidence.run), evidence.run);
    const std::vector<Remark> remarks = diagnosis::verdictOf(evidence);
    const auto cost = std::ranges::find(remarks, Topic::kCost, &Remark::topic);
    ASSERT_NE(cost, remarks.end());
    if (verdict.costliest) {
      named += 1;
      EXPECT_EQ(cost->place.bucket, verdict.costliest->bucket);
      EXPECT_EQ(cost->place.rank, verdict.costliest->rank);
      const std::string figure = " " + base::msText(verdict.costliest->ms) + " ms a step (mean)";
      EXPECT_THAT(textOf(verdict), HasSubstr(figure));
      EXPECT_THAT(cost->brief, EndsWith(figure));
      const std::string reason = reasonText(*verdict.costliest);
      explained += reason.empty() ? 0 : 1;
      EXPECT_THAT(textOf(verdict), HasSubstr(reason));
      EXPECT_EQ(cost->text, cost->brief + reason);
    }
  }
  EXPECT_GE(named, 5u);
  EXPECT_GE(explained, 3u);
  EXPECT_THAT(textOf(verdictOf(overASlowLink())), EndsWith(", because the link is slow"));
}

}  // namespace
}  // namespace lockstep::diagnosis
