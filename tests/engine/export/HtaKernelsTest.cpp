#include "engine/export/HtaKernels.h"

#include <gtest/gtest.h>

#include "engine/trace/Event.h"
#include "tests/engine/export/ExportedRun.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::exports {
namespace {

using trace::EventKind;

// A tick is 0.1 µs. In µs:
//   iteration 0     0 .. 100   forward 0 .. 30, backward 30 .. 80 with a wait 70 .. 80;
//                              an allreduce 60.4 .. 90.6
//   iteration 1   100 .. 150   forward 100 .. 120; an allreduce 140 .. 160, beyond its end
//   afterwards                 an allreduce 200 .. 210
// Computing is 0 .. 70 and 100 .. 120, in flight within the iterations 60.4 .. 90.6 and
// 140 .. 150. As they are written, in whole µs, that is 60 .. 91 and 140 .. 150: 41, of which
// 60 .. 70 overlap: 10, or 24.39 %. To the tick it would be 9.6 of 40.2, or 23.88 %.
void write(const std::filesystem::path& path) {
  ExportedRun run(path, 1, 100);
  run.step(0, EventKind::kForward, 0, 300, 0)
      .step(0, EventKind::kWait, 700, 800, 0)
      .step(0, EventKind::kBackward, 300, 800, 0)
      .collective(0, 604, 906, 0, 400, 0)
      .step(0, EventKind::kStep, 0, 1000, 0)
      .step(0, EventKind::kForward, 1000, 1200, 1)
      .step(0, EventKind::kStep, 1000, 1500, 1)
      .collective(0, 1400, 1600, 1, 400, 1)
      .collective(0, 2000, 2100, 2, 400, 1);
  run.finish();
}

HtaRank onlyRank(const std::filesystem::path& path, const Selection& selection, Survey& surveyed) {
  surveyed = survey(path, selection, Depth::kAnalysis, {}).value();
  const auto ranks = htaRanks(surveyed, surveyed.clock.toNs(surveyed.beginTicks));
  EXPECT_EQ(ranks.size(), 1u);
  return ranks.at(0);
}

TEST(HtaKernels, AreWhatWasInFlightAndWhatWasComputedWithinTheIterations) {
  const support::TemporaryFolder folder;
  write(folder / "run.lockstep");
  Survey surveyed;
  const HtaRank rank = onlyRank(folder / "run.lockstep", {}, surveyed);
  EXPECT_EQ(rank.steps, 2u);
  EXPECT_EQ(rank.inFlightUs, 41u);
  EXPECT_EQ(rank.overlapUs, 10u);
  EXPECT_NEAR(rank.overlapPercent().value(), 24.3902, 1e-4);

  ASSERT_EQ(rank.communication.size(), 2u);
  EXPECT_EQ(rank.communication[0].name(), "ncclKernel_AllReduce_lockstep");
  EXPECT_EQ(rank.communication[0].beginUs, 60) << "the nearest whole µs";
  EXPECT_EQ(rank.communication[0].endUs, 91);
  EXPECT_EQ(rank.communication[1].beginUs, 140);
  EXPECT_EQ(rank.communication[1].endUs, 150) << "the iteration ends here";

  ASSERT_EQ(rank.computing.size(), 3u);
  EXPECT_EQ(rank.computing[0].name(), "lockstep_forward");
  EXPECT_EQ(rank.computing[1].name(), "lockstep_backward");
  EXPECT_EQ(rank.computing[1].beginUs, 30);
  EXPECT_EQ(rank.computing[1].endUs, 70) << "waiting is no computing";
  EXPECT_EQ(rank.computing[2].beginUs, 100);
}

TEST(HtaKernels, OfAPartOfTheRunAreThoseOfItsIterations) {
  const support::TemporaryFolder folder;
  write(folder / "run.lockstep");
  Survey surveyed;
  Selection selection;
  selection.steps = StepRange{1, 1};
  const HtaRank rank = onlyRank(folder / "run.lockstep", selection, surveyed);
  ASSERT_EQ(rank.communication.size(), 1u);
  EXPECT_EQ(rank.communication[0].beginUs, 40) << "since the begin of what is exported";
  EXPECT_EQ(rank.overlapPercent().value(), 0.0);
}

TEST(HtaKernels, WhatIsInFlightTogetherGetsRowsThatNest) {
  const support::TemporaryFolder folder;
  ExportedRun run(folder / "run.lockstep", 1);
  run.collective(0, 10, 30, 0, 400).collective(0, 20, 40, 1, 400).collective(0, 30, 50, 2, 400);
  run.step(0, EventKind::kStep, 0, 100);
  run.finish();
  Survey surveyed;
  const HtaRank rank = onlyRank(folder / "run.lockstep", {}, surveyed);
  ASSERT_EQ(rank.communication.size(), 3u);
  EXPECT_EQ(rank.communication[0].row, 0u);
  EXPECT_EQ(rank.communication[1].row, 1u);
  EXPECT_EQ(rank.communication[2].row, 0u);
}

// In flight 10.6 .. 10.9: both ends are nearest to 11, and no row is left of it.
TEST(HtaKernels, WhatIsGoneInWholeMicrosecondsHasNoOverlapEither) {
  const support::TemporaryFolder folder;
  ExportedRun run(folder / "run.lockstep", 1, 100);
  run.step(0, EventKind::kForward, 0, 500).collective(0, 106, 109, 0, 400);
  run.step(0, EventKind::kStep, 0, 1000).finish();
  Survey surveyed;
  const HtaRank rank = onlyRank(folder / "run.lockstep", {}, surveyed);
  EXPECT_TRUE(rank.communication.empty());
  EXPECT_FALSE(rank.overlapPercent().has_value());
}

TEST(HtaKernels, ARunWithoutCommunicationHasNoOverlap) {
  const support::TemporaryFolder folder;
  ExportedRun run(folder / "run.lockstep", 1);
  run.step(0, EventKind::kForward, 0, 50).step(0, EventKind::kStep, 0, 100);
  run.finish();
  Survey surveyed;
  EXPECT_FALSE(onlyRank(folder / "run.lockstep", {}, surveyed).overlapPercent().has_value());
}

}  // namespace
}  // namespace lockstep::exports
