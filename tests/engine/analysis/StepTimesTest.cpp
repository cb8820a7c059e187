#include "engine/analysis/StepTimes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/run/KindFacts.h"
#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

/// Forward 0..2 ms, backward 2..8 ms, optimizer 8..9 ms, step 0..10 ms.
HandMadeRun plainStep() {
  HandMadeRun run(1);
  run.add(0, EventKind::kForward, 0, 2'000);
  run.add(0, EventKind::kBackward, 2'000, 8'000);
  run.add(0, EventKind::kOptimizer, 8'000, 9'000);
  run.add(0, EventKind::kStep, 0, 10'000);
  return run;
}

StepTimes only(const HandMadeRun& run) {
  const std::vector<StepTimes> steps = stepTimes(run.data());
  EXPECT_EQ(steps.size(), 1);
  return steps.at(0);
}

TEST(StepTimesTest, MeasuresThePhases) {
  const StepTimes step = only(plainStep());
  EXPECT_EQ(step.stepMs, 10);
  EXPECT_EQ(step.forwardMs, 2);
  EXPECT_EQ(step.backwardMs, 6);
  EXPECT_EQ(step.optimizerMs, 1);
  EXPECT_EQ(step.computingMs, 9);
}

TEST(StepTimesTest, SumsStandInForSpansThatWereLeftOut) {
  HandMadeRun run(1);
  run.add(0, EventKind::kStep, 0, 10'000);
  trace::StepSumsRow sums;
  sums.forward = 2'000;
  sums.backward = 6'000;
  sums.optimizer = 1'000;
  sums.inFlight = 5'000;
  sums.computing = 9'000;
  sums.overlap = 4'000;
  sums.overlapLeast = 3'500;
  sums.overlapMost = 4'250;
  sums.coreWait = 500;
  run.tables.sums.push_back(sums);
  sums.rank = 7;  // that emitted nothing
  run.tables.sums.push_back(sums);
  const StepTimes step = only(run);
  EXPECT_EQ(step.stepMs, 10);
  EXPECT_EQ(step.forwardMs, 2);
  EXPECT_EQ(step.computingMs, 9);
  EXPECT_EQ(step.overlapPercent, 80);
  EXPECT_EQ(step.exposedMs, 1);
  EXPECT_EQ(step.overlapMostMs, 4.25);
  EXPECT_EQ(step.coreWaitMs, 0.5);
  EXPECT_EQ(step.kept, trace::KeptDetail::kSums);
}

TEST(StepTimesTest, SaysNothingOfOverlapWithoutCommunication) {
  const StepTimes step = only(plainStep());
  EXPECT_EQ(step.overlapPercent, std::nullopt);
  EXPECT_EQ(step.inFlightMs, 0);
  EXPECT_EQ(step.exposedMs, 0);
}

TEST(StepTimesTest, CountsCommunicationOverAllOfTheBackwardAsHidden) {
  HandMadeRun run = plainStep();
  run.addCollective(0, 3'000, 7'000, 0);
  const StepTimes step = only(run);
  EXPECT_EQ(step.overlapPercent, 100);
  EXPECT_EQ(step.exposedMs, 0);
}

TEST(StepTimesTest, TakesTheUnionOfCollectivesAndNotTheirSum) {
  HandMadeRun run = plainStep();
  run.addCollective(0, 3'000, 6'000, 0);
  run.addCollective(0, 4'000, 7'000, 1);
  EXPECT_EQ(only(run).inFlightMs, 4);
}

TEST(StepTimesTest, CountsTheTimeOfAShapedLinkAsCommunication) {
  HandMadeRun run = plainStep();
  run.addCollective(0, 3'000, 4'000, 0);
  run.addCollective(0, 4'000, 6'000, 0);
  run.spans.back().kind = EventKind::kShaped;
  EXPECT_EQ(only(run).inFlightMs, 3);
}

TEST(StepTimesTest, CountsTheCheckBeforeACollectiveAsCommunication) {
  HandMadeRun run = plainStep();
  run.addCollective(0, 3'000, 3'500, 0);
  run.spans.back().kind = EventKind::kChecked;
  run.addCollective(0, 3'500, 4'000, 0);
  EXPECT_EQ(only(run).inFlightMs, 1);
}

TEST(StepTimesTest, ExposesAllThatDataParallelCopiesBetweenItsDevices) {
  HandMadeRun run = plainStep();
  run.add(0, EventKind::kScatter, 0, 100);
  run.add(0, EventKind::kReplicate, 100, 1'000);
  run.add(0, EventKind::kGather, 1'800, 2'000);
  run.add(0, EventKind::kScatter, 2'000, 2'300);
  run.add(0, EventKind::kReduceGradients, 6'000, 8'000);
  const StepTimes step = only(run);
  EXPECT_EQ(step.inFlightMs, 3.5);
  EXPECT_EQ(step.exposedMs, 3.5);
  EXPECT_EQ(step.overlapPercent, 0);
  EXPECT_EQ(step.computingMs, 9 - 3.5);
}

TEST(StepTimesTest, CountsAnOptimizerBesideTheBackwardAsComputingThoughFinalizeWaits) {
  HandMadeRun run = plainStep();
  run.addCollective(0, 4'000, 7'500, 0);
  run.add(0, EventKind::kFinalize, 6'000, 8'000);
  run.add(0, EventKind::kBucketOptimizer, 6'500, 7'000);
  const StepTimes step = only(run);
  EXPECT_EQ(step.overlapMs, 2.5);
  EXPECT_EQ(step.exposedMs, 1);
}

TEST(StepTimesTest, ExposesWhatFinalizeWaitsFor) {
  HandMadeRun run = plainStep();
  run.addCollective(0, 3'000, 7'500, 0);
  run.add(0, EventKind::kFinalize, 6'000, 8'000);
  run.add(0, EventKind::kWait, 6'000, 7'500);
  run.add(0, EventKind::kCopyOut, 7'500, 8'000);
  const StepTimes step = only(run);
  EXPECT_EQ(step.computingMs, 7);
  EXPECT_EQ(step.overlapMs, 3);
  EXPECT_EQ(step.exposedMs, 1.5);
  EXPECT_NEAR(step.overlapPercent.value(), 100.0 * 3 / 4.5, 1e-9);
}

TEST(StepTimesTest, TakesCopiesAndHookPhasesForNoComputing) {
  for (const EventKind kind : {EventKind::kCopyIn, EventKind::kCopyOut, EventKind::kHookEncode,
                               EventKind::kHookDecode, EventKind::kWait, EventKind::kFinalize,
                               EventKind::kBroadcastBuffers, EventKind::kRebuildBuckets}) {
    HandMadeRun run = plainStep();
    run.addCollective(0, 3'000, 5'000, 0);
    run.add(0, kind, 4'000, 4'500);
    EXPECT_EQ(only(run).computingMs, 8.5) << trace::name(kind);
    EXPECT_EQ(only(run).exposedMs, 0.5) << trace::name(kind);
  }
}

TEST(StepTimesTest, LetsADeviceComputeWhileTheHostDoesOtherThings) {
  HandMadeRun run = plainStep();
  for (trace::SpanRow& span : run.spans) {
    span.detail = span.kind == EventKind::kStep ? 0 : trace::kByDevice;
  }
  run.addCollective(0, 4'000, 8'000, 0);
  run.add(0, EventKind::kHookEncode, 2'000, 6'000);  // the host's: it waits for the device
  run.add(0, EventKind::kWait, 7'000, 8'000);        // the device's own
  run.spans.back().detail = trace::kByDevice;
  const StepTimes step = only(run);
  EXPECT_EQ(step.computingMs, 8);
  EXPECT_EQ(step.exposedMs, 1);
}

TEST(StepTimesTest, ExposesWhatAHookDoesAroundAStepAndNotWhatItDoesForABucket) {
  for (const bool aroundStep : {false, true}) {
    HandMadeRun run = plainStep();
    run.addCollective(0, 8'200, 8'800, 0);  // in the optimizer's phase
    run.add(0, EventKind::kHookCommunicate, 8'200, 8'800);
    run.spans.back().bucket = aroundStep ? trace::kNoBucket : std::uint16_t{3};
    EXPECT_TRUE(run::has(run.spans.back().kind, run::kAnalysed)) << "read from a file";
    EXPECT_NEAR(only(run).exposedMs, aroundStep ? 0.6 : 0.0, 1e-9);
    EXPECT_EQ(only(run).overlapPercent, aroundStep ? 0.0 : 100.0);
  }
}

TEST(StepTimesTest, GivesEachStepItsPartOfACollectiveThatSpansTwo) {
  HandMadeRun run = plainStep();
  run.add(0, EventKind::kForward, 10'000, 20'000, 1);
  run.add(0, EventKind::kStep, 10'000, 20'000, 1);
  run.addCollective(0, 8'500, 13'000, 0);
  const std::vector<StepTimes> steps = stepTimes(run.data());
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].inFlightMs, 1.5);
  EXPECT_EQ(steps[0].exposedMs, 1);
  EXPECT_EQ(steps[1].inFlightMs, 3);
  EXPECT_EQ(steps[1].exposedMs, 0);
}

TEST(StepTimesTest, AddsUpMicroBatches) {
  HandMadeRun run(1);
  run.add(0, EventKind::kForward, 0, 1'000);
  run.add(0, EventKind::kForward, 2'000, 3'000);
  run.add(0, EventKind::kStep, 0, 4'000);
  EXPECT_EQ(only(run).forwardMs, 2);
}

TEST(StepTimesTest, MarksAStepInWhichEventsWereDropped) {
  HandMadeRun run = plainStep();
  EXPECT_FALSE(only(run).incomplete);
  run.add(0, EventKind::kGap, 4'000, 4'100, 0, 17);
  EXPECT_TRUE(only(run).incomplete);

  HandMadeRun instant = plainStep();
  instant.add(0, EventKind::kGap, 9'000, 9'000, 0, 17);
  EXPECT_TRUE(only(instant).incomplete) << "a last gap has no duration";
}

TEST(StepTimesTest, KeepsRanksApart) {
  HandMadeRun run(2);
  run.add(1, EventKind::kStep, 0, 2'000);
  run.add(0, EventKind::kStep, 0, 3'000);
  run.addCollective(1, 0, 1'000, 0);
  const std::vector<StepTimes> steps = stepTimes(run.data());
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].rank, 0);
  EXPECT_EQ(steps[0].inFlightMs, 0);
  EXPECT_EQ(steps[1].rank, 1);
  EXPECT_EQ(steps[1].inFlightMs, 1);
}

TEST(StepTimesTest, DoesNotDependOnTheOrderOfRows) {
  HandMadeRun run = plainStep();
  run.addCollective(0, 3'000, 8'500, 0);
  const StepTimes before = only(run);
  std::reverse(run.spans.begin(), run.spans.end());
  EXPECT_EQ(only(run).exposedMs, before.exposedMs);
  EXPECT_EQ(only(run).overlapPercent, before.overlapPercent);
}

}  // namespace
}  // namespace lockstep::analysis
