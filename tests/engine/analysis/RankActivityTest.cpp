#include "engine/analysis/RankActivity.h"

#include <gtest/gtest.h>

#include "engine/analysis/StepTimes.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

/// Forward 0..2 ms, backward 2..9 ms with its last gradient at 6, optimizer 9..10, step 0..10.
/// From 7 on the step thread waits; in 6..7 it does nothing that has a span.
HandMadeRun lateFinalize() {
  HandMadeRun run(1);
  run.add(0, EventKind::kForward, 0, 2'000);
  run.add(0, EventKind::kGradientReady, 4'000, 4'000);
  run.add(0, EventKind::kGradientReady, 6'000, 6'000);
  run.add(0, EventKind::kBackward, 2'000, 9'000);
  run.add(0, EventKind::kFinalize, 7'000, 9'000);
  run.add(0, EventKind::kOptimizer, 9'000, 10'000);
  run.add(0, EventKind::kStep, 0, 10'000);
  return run;
}

StepTimes theStep(const HandMadeRun& run) {
  const std::vector<StepTimes> steps = stepTimes(run.data());
  EXPECT_EQ(steps.size(), 1);
  return steps.at(0);
}

TEST(RankActivityTest, NothingIsHiddenBehindABackwardThatHasMadeItsLastGradient) {
  HandMadeRun run = lateFinalize();
  run.addCollective(0, 6'000, 8'500, 0);
  EXPECT_TRUE(run::has(run.spans[1].kind, run::kAnalysed)) << "read from a file";
  const StepTimes step = theStep(run);
  EXPECT_EQ(step.overlapPercent, 0);
  EXPECT_EQ(step.exposedMs, 2.5);
  EXPECT_EQ(step.computingMs, 2 + 4 + 1);
}

TEST(RankActivityTest, WhatFliesWhileGradientsAreMadeIsHiddenUntilTheLast) {
  HandMadeRun run = lateFinalize();
  run.addCollective(0, 4'000, 8'000, 0);
  EXPECT_EQ(theStep(run).overlapMs, 2);
  EXPECT_EQ(theStep(run).exposedMs, 2);
}

TEST(RankActivityTest, EachBackwardOfAStepEndsWithItsOwnLastGradient) {
  HandMadeRun run = lateFinalize();
  run.add(0, EventKind::kGradientReady, 11'000, 11'000);
  run.add(0, EventKind::kBackward, 10'500, 12'000);
  EXPECT_EQ(length(rankActivity(run.data()).at(0).computing), 7'000 + 500);
}

TEST(RankActivityTest, ABackwardThatMakesNoGradientOfDdpsCountsToItsEnd) {
  HandMadeRun run(1);
  run.add(0, EventKind::kGradientReady, 500, 500);  // of an earlier backward
  run.add(0, EventKind::kBackward, 2'000, 8'000);
  EXPECT_EQ(length(rankActivity(run.data()).at(0).computing), 6'000);
}

TEST(RankActivityTest, ADeviceComputesOnWhenTheHostHasMadeItsLastGradient) {
  HandMadeRun run = lateFinalize();
  for (trace::SpanRow& span : run.spans) {
    if (countedAs(span).work) {
      span.detail = trace::kByDevice;
    }
  }
  run.add(0, EventKind::kOffCore, 0, 2'000, 0, 1'000'000);
  const RankActivity activity = rankActivity(run.data()).at(0);
  EXPECT_EQ(length(activity.computing), 2'000 + 7'000 + 1'000);
  EXPECT_TRUE(activity.offCore.empty()) << "the device did not wait for the host's cores";
}

// Of 2..6 the thread was 2 ms without a core: 3..5 by the rule. In flight is 5..9.
TEST(RankActivityTest, AThreadWithoutACoreDoesNotCompute) {
  HandMadeRun run = lateFinalize();
  run.addCollective(0, 4'500, 9'000, 0);
  run.add(0, EventKind::kOffCore, 2'000, 6'000, 0, 2'000'000);
  EXPECT_TRUE(run::has(run.spans.back().kind, run::kAnalysed)) << "read from a file";
  const RankActivity activity = rankActivity(run.data()).at(0);
  EXPECT_EQ(activity.computing, (Intervals{{0, 3'000}, {5'000, 6'000}, {9'000, 10'000}}));
  EXPECT_EQ(activity.offCore, (Intervals{{3'000, 5'000}}));
  const StepTimes step = theStep(run);
  EXPECT_EQ(step.offCoreMs, 2);
  EXPECT_EQ(step.overlapMs, 1);
  EXPECT_EQ(step.exposedMs, 3.5);
}

// Of 4.5..6 = 1.5 in flight and at work, the 2 ms of waiting within 2..6 took all or, at 2..4,
// nothing.
TEST(RankActivityTest, TheOverlapLiesBetweenWhatTheWaitsAllow) {
  HandMadeRun run = lateFinalize();
  run.addCollective(0, 4'500, 9'000, 0);
  run.add(0, EventKind::kOffCore, 2'000, 6'000, 0, 2'000'000);
  EXPECT_EQ(theStep(run).overlapLeastMs, 0);
  EXPECT_EQ(theStep(run).overlapMostMs, 1.5);

  run.spans.back().value = 3'500'000;  // at least 1 of it within 4.5..6
  EXPECT_EQ(theStep(run).overlapLeastMs, 0);
  EXPECT_EQ(theStep(run).overlapMostMs, 0.5);
  EXPECT_GE(theStep(run).overlapMs, 0);
  EXPECT_LE(theStep(run).overlapMs, 0.5);

  run.spans.back().startTicks = 5'000;  // 5..6, all of it
  run.spans.back().durationTicks = 1'000;
  run.spans.back().value = 1'000'000;
  EXPECT_EQ(theStep(run).overlapMs, 0.5);
  EXPECT_EQ(theStep(run).overlapLeastMs, 0.5);
  EXPECT_EQ(theStep(run).overlapMostMs, 0.5);
}

TEST(RankActivityTest, AWaitLongerThanItsSpanIsTheWholeSpan) {
  HandMadeRun run = lateFinalize();
  run.add(0, EventKind::kOffCore, 0, 1'000, 0, 9'000'000);
  EXPECT_EQ(rankActivity(run.data()).at(0).offCore, (Intervals{{0, 1'000}}));
}

TEST(RankActivityTest, AWaitBesideTheWorkTakesNothingOfIt) {
  HandMadeRun run = lateFinalize();
  run.addCollective(0, 6'000, 9'000, 0);
  run.add(0, EventKind::kOffCore, 7'000, 9'000, 0, 1'000'000);
  const StepTimes step = theStep(run);
  EXPECT_EQ(step.offCoreMs, 0);
  EXPECT_EQ(step.computingMs, 7);
  EXPECT_EQ(step.overlapLeastMs, 0);
  EXPECT_EQ(step.overlapMostMs, 0);
}

TEST(RankActivityTest, AnOptimizerBesideTheBackwardGoesOnWhileTheStepThreadHasNoCore) {
  HandMadeRun run = lateFinalize();
  run.addCollective(0, 3'000, 9'000, 0);
  run.add(0, EventKind::kBucketOptimizer, 3'500, 4'500);
  run.spans.back().track = 1;
  run.add(0, EventKind::kOffCore, 3'000, 5'000, 0, 2'000'000);
  const RankActivity activity = rankActivity(run.data()).at(0);
  EXPECT_EQ(activity.offCore, (Intervals{{3'000, 3'500}, {4'500, 5'000}}));
  EXPECT_EQ(theStep(run).overlapMs, 2);
}

}  // namespace
}  // namespace lockstep::analysis
