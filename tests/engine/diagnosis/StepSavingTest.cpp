#include "engine/diagnosis/StepSaving.h"

#include <gtest/gtest.h>

#include "tests/engine/cost/HandMadeSteps.h"
#include "tests/engine/diagnosis/MadeEvidence.h"

namespace lockstep::diagnosis {
namespace {

/// Sixteen steps of two ranks with one gradient and one bucket: rank 0 has it after 10 ms, rank 1
/// after 10 ms and `later`. The transfer takes 2 ms, and the step ends 1 ms after it, on rank 1
/// as much later as `optimizerMs`, by which it also begins the next one later.
cost::RecordedRun steps(double laterMs, double optimizerMs = 0) {
  constexpr double kMs = 1e6;
  cost::RecordedRun run;
  for (std::uint32_t number = 0; number < 16; ++number) {
    cost::StepRecord& step = run.steps.emplace_back();
    step.step = number;
    const double met = (10 + laterMs + optimizerMs) * kMs;
    step.buckets = {{{0}, 1000, {}}};
    for (int r = 0; r < 2; ++r) {
      const double begin = r == 1 ? optimizerMs * kMs : 0;
      const double ready = (10 + (r == 1 ? laterMs : 0)) * kMs + begin;
      cost::RankStep& rank = step.ranks.emplace_back();
      rank.rank = r;
      rank.filledNs = {ready};
      rank.lastGradientNs = rank.waitsNs = ready;
      rank.beginNs = begin;
      rank.computing = {{begin, ready}};
      rank.endNs = met + 3 * kMs + begin;
      step.buckets[0].parts.push_back({ready, ready, met + 2 * kMs, met + 2 * kMs, met + 2 * kMs});
    }
  }
  run.known = cost::KnownTransfer{1, 2e6 - 1000};
  return run;
}

/// Lets the transfer of a step take so much longer.
void holdUp(cost::StepRecord& step, double ms) {
  for (std::size_t r = 0; r < step.ranks.size(); ++r) {
    cost::BucketPart& part = step.buckets[0].parts[r];
    for (double* moment :
         {&part.endedNs, &part.copyOutNs, &part.copiedOutNs, &step.ranks[r].endNs}) {
      *moment += ms * 1e6;
    }
  }
}

Excess excessOf(WorkPart part, double ms) {
  Excess excess{part, {}, {}, ms};
  for (std::uint32_t step = 0; step < 16; ++step) {
    excess.steps.push_back(step);
    excess.ms.push_back(ms);
  }
  return excess;
}

TEST(StepSavingTest, OfTheOnlyLateRankIsAllOfItsLateness) {
  const auto forecaster = cost::Forecaster::make(steps(7));
  ASSERT_TRUE(forecaster.ok()) << forecaster.error().message();
  for (const WorkPart part :
       {WorkPart{WorkPart::Kind::kForward, 0}, WorkPart{WorkPart::Kind::kGradient, 0}}) {
    const auto saving = savingWithout(forecaster.value(), 1, {excessOf(part, 7)});
    ASSERT_TRUE(saving);
    EXPECT_NEAR(saving->mean, 7, 0.01);
    // Of 13 ms that are left two runs may differ by 4 %.
    EXPECT_NEAR(saving->low, 7 - 0.52, 0.01);
    EXPECT_NEAR(saving->high, 7 + 0.52, 0.01);
  }
}

TEST(StepSavingTest, OfARankThatNobodyWaitsForIsNothing) {
  const auto forecaster = cost::Forecaster::make(steps(7));
  ASSERT_TRUE(forecaster.ok());
  const auto saving =
      savingWithout(forecaster.value(), 0, {excessOf({WorkPart::Kind::kForward, 0}, 3)});
  ASSERT_TRUE(saving);
  EXPECT_NEAR(saving->mean, 0, 0.01);
}

TEST(StepSavingTest, OfAnOptimizerThatTakesLongIsWhatTheOthersWaitForNext) {
  const auto forecaster = cost::Forecaster::make(steps(0, 4));
  ASSERT_TRUE(forecaster.ok());
  const auto saving =
      savingWithout(forecaster.value(), 1, {excessOf({WorkPart::Kind::kOptimizer, 0}, 4)});
  ASSERT_TRUE(saving);
  // All but the first step, before which nothing was taken out, and a half of the last.
  EXPECT_NEAR(saving->mean, 4, 0.4);
}

TEST(StepSavingTest, TakesItsPartOfWhatTheReplayMisses) {
  cost::RecordedRun run = steps(7);
  for (std::size_t step = 1; step < run.steps.size(); step += 4) {
    holdUp(run.steps[step], 6);
  }
  const auto forecaster = cost::Forecaster::make(run);
  ASSERT_TRUE(forecaster.ok()) << forecaster.error().message();
  const auto saving =
      savingWithout(forecaster.value(), 1, {excessOf({WorkPart::Kind::kForward, 0}, 7)});
  ASSERT_TRUE(saving);
  EXPECT_NEAR(saving->mean, 7 + 1.5 * 7 / 20, 0.01) << "1.5 ms of 20 are missed";
  EXPECT_LE(saving->low, 7) << "none of it goes with the cause";
  EXPECT_GE(saving->high, 8.5) << "all of it does";
}

TEST(StepSavingTest, ReachesAsFarAsTwoRunsOfSuchStepsDiffer) {
  cost::RecordedRun run = steps(7);
  for (std::size_t step = 0; step < run.steps.size(); step += 2) {
    holdUp(run.steps[step], step % 8 < 4 ? 0 : 2);
  }
  const auto forecaster = cost::Forecaster::make(run);
  ASSERT_TRUE(forecaster.ok()) << forecaster.error().message();
  const auto saving =
      savingWithout(forecaster.value(), 1, {excessOf({WorkPart::Kind::kForward, 0}, 7)});
  ASSERT_TRUE(saving);
  EXPECT_LT(saving->low, 7 - 0.7) << "in the replay each step saves the same";
  EXPECT_GT(saving->high, 7 + 0.7);
}

TEST(StepSavingTest, OfATimeThatIsSpentIsNoSurerThanTwoRunsAreAlike) {
  Evidence evidence = test::healthy();
  const cost::MeanInterval spent{20, 19.9, 20.1};
  const auto even = savingOfTime(evidence, spent);
  EXPECT_EQ(even.mean, 20);
  EXPECT_NEAR(even.high, 20 + 3.2, 0.01) << "4 % of the 80 ms that are left";
  for (analysis::StepOverlap& step : evidence.steps) {
    step.times.stepMs += step.times.step % 10 < 5 ? 0 : 20;
  }
  EXPECT_GT(savingOfTime(evidence, spent).high, even.high + 2);
  EXPECT_EQ(savingOfTime(evidence, {1, 0.9, 1.1}).low, 0);
}

}  // namespace
}  // namespace lockstep::diagnosis
