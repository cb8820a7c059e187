#include "engine/diagnosis/StepSaving.h"

#include <gtest/gtest.h>

#include "tests/engine/cost/HandMadeSteps.h"

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
    EXPECT_NEAR(saving->low, 7, 0.2);
    EXPECT_NEAR(saving->high, 7, 0.2);
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

}  // namespace
}  // namespace lockstep::diagnosis
