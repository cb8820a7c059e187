#include "engine/analysis/StepCauses.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

std::map<CauseKey, double> partsOf(const HandMadeRun& run, int rank, std::uint32_t step) {
  std::map<CauseKey, double> parts;
  for (const StepCauses& causes : stepCauses(run.data(), analyse(run.data()))) {
    if (causes.rank == rank && causes.step == step) {
      for (const CauseTime& part : causes.parts) {
        parts[part.key] = part.ms;
      }
    }
  }
  return parts;
}

// Two ranks, step 1, 1000 ticks a ms:
//   rank 0  step 0..10000, backward 0..4000, collective 3000..9000 (bucket 3)
//   rank 1  step 0..10000, backward 0..6000, collective 6000..9000
// Rank 0 computes 0..4000; in flight and not computing 4000..9000: until rank 1 arrives at 6000 it
// waits 2 ms for it, then 3 ms of transfer; 9000..10000 is all else.
// Rank 1 computes 0..6000, transfer 3 ms, 1 ms else.
TEST(StepCausesTest, ExposedTimeIsWaitingForTheLastRankAndThenTransfer) {
  HandMadeRun run(2);
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, EventKind::kStep, 0, 10'000, 1);
    run.add(rank, EventKind::kBackward, 0, rank == 0 ? 4'000 : 6'000, 1);
    run.addCollective(rank, rank == 0 ? 3'000 : 6'000, 9'000, 1, 1);
  }
  const std::map<CauseKey, double> rank0{{{Cause::kComputing}, 4},
                                         {{Cause::kWaiting, 3, 1}, 2},
                                         {{Cause::kTransfer, 3}, 3},
                                         {{Cause::kOther}, 1}};
  // The first step of a run is warm-up.
  run.add(0, EventKind::kStep, 20'000, 21'000, 2);
  EXPECT_TRUE(partsOf(run, 0, 1).empty());
  run.add(0, EventKind::kStep, 0, 0, 0);
  EXPECT_EQ(partsOf(run, 0, 1), rank0);
  const std::map<CauseKey, double> rank1{
      {{Cause::kComputing}, 6}, {{Cause::kTransfer, 3}, 3}, {{Cause::kOther}, 1}};
  EXPECT_EQ(partsOf(run, 1, 1), rank1);
}

// Rank 0's step 0..10000, backward 0..6000, and 2 ms without a core in the middle of 0..6000, a
// collective 3000..9000: without a core 2000..3000 alone, and 3000..4000 with it in flight.
TEST(StepCausesTest, TellsComputingFromBeingReadyWithoutACore) {
  HandMadeRun run(2);
  run.add(0, EventKind::kStep, 0, 0, 0);
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, EventKind::kStep, 0, 10'000, 1);
    run.add(rank, EventKind::kBackward, 0, 6'000, 1);
    run.addCollective(rank, 3'000, 9'000, 1, 1);
  }
  run.add(0, EventKind::kOffCore, 0, 6'000, 1, 2'000'000);
  const std::map<CauseKey, double> expected{{{Cause::kComputing}, 4},
                                            {{Cause::kNoCoreInFlight}, 1},
                                            {{Cause::kNoCore}, 1},
                                            {{Cause::kTransfer, 3}, 3},
                                            {{Cause::kOther}, 1}};
  EXPECT_EQ(partsOf(run, 0, 1), expected);
  EXPECT_TRUE(isExposed(Cause::kNoCoreInFlight));
  EXPECT_FALSE(isExposed(Cause::kNoCore));
}

// One rank, step 0..10000, backward 0..4000; its bucket 3 is ready at 2000, encoded 4000..5000,
// its collective 6000..8000 (nobody else's record: its last rank is unknown), decoded 7000..9500.
// 0..4000 computing, 4000..5000 encode, 5000..6000 launch delay, 6000..8000 communicating,
// 8000..9500 decode (what is before is taken by the flight), 9500..10000 else.
TEST(StepCausesTest, AMomentGoesToTheFirstThatClaimsIt) {
  HandMadeRun run(1);
  run.add(0, EventKind::kStep, 0, 0, 0);
  run.add(0, EventKind::kStep, 0, 10'000, 1);
  run.add(0, EventKind::kBackward, 0, 4'000, 1);
  run.add(0, EventKind::kBucketReady, 2'000, 2'000, 1);
  run.spans.back().bucket = 3;
  run.add(0, EventKind::kHookEncode, 4'000, 5'000, 1);
  run.spans.back().bucket = 3;
  run.addCollective(0, 6'000, 8'000, 1, 1);
  run.add(0, EventKind::kHookDecode, 7'000, 9'500, 1);
  run.spans.back().bucket = 3;
  const std::map<CauseKey, double> expected{
      {{Cause::kComputing}, 4},        {{Cause::kEncode, 3}, 1},   {{Cause::kLaunchDelay, 3}, 1},
      {{Cause::kCommunicating, 3}, 2}, {{Cause::kDecode, 3}, 1.5}, {{Cause::kOther}, 0.5}};
  EXPECT_EQ(partsOf(run, 0, 1), expected);
}

// Two collectives beside each other on both ranks, nothing computed: bucket 3 0..4000, and
// bucket 5 1000..6000. The first has 0..4000, the second what is left, 4000..6000.
TEST(StepCausesTest, OfSeveralInFlightTheFirstHasTheTime) {
  HandMadeRun run(2);
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, EventKind::kStep, 0, 0, 0);
    run.add(rank, EventKind::kStep, 0, 6'000, 1);
    run.addCollective(rank, 0, 4'000, 1, 1);
    run.addCollective(rank, 1'000, 6'000, 2, 1);
    run.spans.back().bucket = 5;
  }
  const std::map<CauseKey, double> expected{{{Cause::kTransfer, 3}, 4}, {{Cause::kTransfer, 5}, 2}};
  EXPECT_EQ(partsOf(run, 0, 1), expected);
}

// A collective of step 1 that lands in step 2, 5000..8000 over a border at 6000, counts in both.
TEST(StepCausesTest, WhatGoesOnIntoTheNextStepCountsInBoth) {
  HandMadeRun run(2);
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, EventKind::kStep, 0, 0, 0);
    run.add(rank, EventKind::kStep, 0, 6'000, 1);
    run.add(rank, EventKind::kStep, 6'000, 9'000, 2);
    run.addCollective(rank, 5'000, 8'000, 1, 1);
  }
  EXPECT_EQ(partsOf(run, 0, 1),
            (std::map<CauseKey, double>{{{Cause::kTransfer, 3}, 1}, {{Cause::kOther}, 5}}));
  EXPECT_EQ(partsOf(run, 0, 2),
            (std::map<CauseKey, double>{{{Cause::kTransfer, 3}, 2}, {{Cause::kOther}, 1}}));
}

TEST(StepCausesTest, StepsWithLostEventsHaveNoCauses) {
  HandMadeRun run(1);
  run.add(0, EventKind::kStep, 0, 0, 0);
  run.add(0, EventKind::kStep, 0, 1'000, 1);
  run.add(0, EventKind::kGap, 500, 600, 1, 12);
  EXPECT_TRUE(stepCauses(run.data(), analyse(run.data())).empty());
}

}  // namespace
}  // namespace lockstep::analysis
