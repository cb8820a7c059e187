#include "engine/analysis/CollectiveTimes.h"

#include <gtest/gtest.h>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::Operation;

TEST(CollectiveTimesTest, SplitsWaitingForPeersFromTransfer) {
  HandMadeRun run(3);
  run.addCollective(0, 1'000, 9'000, 5, 2);
  run.addCollective(1, 7'000, 9'000, 5, 2);
  run.addCollective(2, 4'000, 9'500, 5, 2);
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 1);
  const CollectiveTimes& one = collectives[0];
  EXPECT_EQ(one.sequence, 5);
  EXPECT_EQ(one.step, 2);
  EXPECT_EQ(one.bucket, 3);
  EXPECT_EQ(one.bytes, 400);
  EXPECT_EQ(one.operation, Operation::kAllreduce);
  EXPECT_EQ(one.lastRank, 1);
  EXPECT_EQ(one.skewTicks, 6000);
  ASSERT_EQ(one.arrivals.size(), 3);
  EXPECT_EQ(one.arrivals[0].waitingTicks(), 6000);
  EXPECT_EQ(one.arrivals[0].transferTicks(), 2000);
  EXPECT_EQ(one.arrivals[1].waitingTicks(), 0);
  EXPECT_EQ(one.arrivals[1].transferTicks(), 2000);
  EXPECT_EQ(one.arrivals[2].waitingTicks(), 3000);
  EXPECT_EQ(one.arrivals[2].transferTicks(), 2500);
}

TEST(CollectiveTimesTest, AllowsARankToBeDoneBeforeTheLastArrives) {
  HandMadeRun run(2);
  run.addCollective(0, 1'000, 2'000, 0, 0, Operation::kBroadcast);
  run.addCollective(1, 5'000, 6'000, 0, 0, Operation::kBroadcast);
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 1);
  EXPECT_EQ(collectives[0].arrivals[0].waitingTicks(), 1000);
  EXPECT_EQ(collectives[0].arrivals[0].transferTicks(), 0);
}

TEST(CollectiveTimesTest, KeepsGroupsApart) {
  HandMadeRun run(2);
  run.addCollective(0, 0, 1, 7, 0, Operation::kAllreduce, 0);
  run.addCollective(1, 0, 1, 7, 0, Operation::kAllreduce, 1);
  EXPECT_TRUE(collectiveTimes(run.data()).empty());
}

TEST(CollectiveTimesTest, LeavesOutWhatOnlyOneRankSaw) {
  HandMadeRun run(2);
  run.addCollective(0, 0, 1, 0);
  run.addCollective(1, 0, 1, 1);  // the record of number 0 was dropped on this rank
  run.addCollective(0, 2, 3, 1);
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 1);
  EXPECT_EQ(collectives[0].sequence, 1);
}

TEST(CollectiveTimesTest, GoesOnUntilTheShapedLinkIsDone) {
  HandMadeRun run(2);
  for (int rank = 0; rank < 2; ++rank) {
    run.addCollective(rank, 1'000, 2'000, 5);
    run.addCollective(rank, 2'500, 3'000, 5);
    run.spans.back().kind = trace::EventKind::kShaped;
  }
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 1);
  ASSERT_EQ(collectives[0].arrivals.size(), 2);
  EXPECT_EQ(collectives[0].arrivals[1].transferTicks(), 2000);
}

TEST(CollectiveTimesTest, LeavesOutSendsAndReceives) {
  HandMadeRun run(2);
  run.addCollective(0, 0, 1, 0, 0, Operation::kSend);
  run.addCollective(1, 0, 1, 0, 0, Operation::kRecv);
  EXPECT_TRUE(collectiveTimes(run.data()).empty());
}

TEST(CollectiveTimesTest, SaysThatTheLastRankIsUnknownWhenOneHasNoRecord) {
  HandMadeRun run(3);
  for (int rank = 0; rank < 3; ++rank) {
    run.addCollective(rank, 0, 1, 0);
  }
  run.addCollective(0, 1'000, 9'000, 1);
  run.addCollective(1, 3'000, 9'000, 1);  // rank 2's, which came at 8'000, was dropped
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 2);
  EXPECT_TRUE(collectives[0].lastRank.has_value());
  EXPECT_EQ(collectives[1].lastRank, std::nullopt);
  EXPECT_EQ(collectives[1].skewTicks, 2000);
  EXPECT_EQ(collectives[1].arrivals[0].waitingTicks(), 0);
  EXPECT_EQ(collectives[1].arrivals[0].transferTicks(), 0);
}

TEST(CollectiveTimesTest, AsksOnlyTheRanksOfAGroup) {
  HandMadeRun run(3);
  run.addCollective(2, 0, 1, 0);
  for (int rank = 0; rank < 2; ++rank) {
    run.addCollective(rank, 1'000 + static_cast<std::uint64_t>(rank), 9'000, 1, 0,
                      Operation::kAllreduce, 4);
  }
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 1);
  EXPECT_EQ(collectives[0].lastRank, 1);
}

TEST(CollectiveTimesTest, LetsACheckedCollectiveBeginWithItsComparison) {
  HandMadeRun run(2);
  for (int rank = 0; rank < 2; ++rank) {
    // The wrapper counts on its own: its numbers are not those of the group below.
    run.addCheck(rank, rank == 0 ? 1'000 : 4'000, 5'000, 70);
    run.addCollective(rank, 5'000, 6'000, 1);
    run.addCollective(rank, 8'000, 9'000, 2);  // unchecked
  }
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 2);
  EXPECT_EQ(collectives[0].lastRank, 1);
  EXPECT_EQ(collectives[0].arrivals[0].waitingTicks(), 3000);
  EXPECT_EQ(collectives[0].arrivals[0].transferTicks(), 2000);
  EXPECT_EQ(collectives[1].arrivals[0].startTicks, 8'000);
}

TEST(CollectiveTimesTest, TellsTheOwnWorkOfACheckFromItsWaitForALateRank) {
  HandMadeRun run(2);
  run.addCheck(0, 1'000, 5'000, 70);
  run.addCheck(1, 4'000, 5'500, 70);
  run.addCollective(0, 5'000, 9'000, 1);
  run.addCollective(1, 5'500, 9'000, 1);
  CollectiveSpans spans(trace::EventKind::kChecked);
  for (const trace::SpanRow& span : run.spans) {
    spans.add(span.track / 10, span);
  }
  const auto checks = spans.gather({}, 1);
  ASSERT_EQ(checks.size(), 1) << "the collective itself is none";
  EXPECT_EQ(checks[0].sequence, 70);
  EXPECT_EQ(checks[0].lastRank, 1);
  EXPECT_EQ(checks[0].arrivals[0].waitingTicks(), 3000);
  EXPECT_EQ(checks[0].arrivals[0].transferTicks(), 1000);
  EXPECT_EQ(checks[0].arrivals[1].waitingTicks(), 0);
  EXPECT_EQ(checks[0].arrivals[1].transferTicks(), 1500);
}

TEST(CollectiveTimesTest, ContinuesNumbersBeyondTheirWrap) {
  HandMadeRun run(2);
  constexpr std::uint64_t kLast = (1 << 24) - 1;
  for (int rank = 0; rank < 2; ++rank) {
    run.addCollective(rank, 5, 6, 1);
    run.addCollective(rank, 10, 11, kLast / 2);
    run.addCollective(rank, 20, 21, kLast);
    run.addCollective(rank, 30, 31, kLast + 1);
    run.addCollective(rank, 40, 41, kLast + 2);
  }
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 5);
  EXPECT_EQ(collectives[3].sequence, kLast + 1);
  EXPECT_EQ(collectives[4].sequence, kLast + 2);
  EXPECT_EQ(collectives[4].arrivals.size(), 2);
}

TEST(CollectiveTimesTest, WrapsOnceThoughRecordsComeOutOfOrderThere) {
  HandMadeRun run(2);
  constexpr std::uint64_t kLast = (1 << 24) - 1;
  for (int rank = 0; rank < 2; ++rank) {
    run.addCollective(rank, 10, 11, kLast - 1);
    run.addCollective(rank, 20, 25, kLast + 1);  // two of them are in flight together
    run.addCollective(rank, 21, 26, kLast);
    run.addCollective(rank, 30, 31, kLast + 2);
  }
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 4);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(collectives[i].sequence, kLast - 1 + i);
  }
}

TEST(CollectiveTimesTest, MatchesARankWhoseRecordsBeforeTheWrapWereDropped) {
  HandMadeRun run(2);
  constexpr std::uint64_t kLast = (1 << 24) - 1;
  run.addCollective(0, 10, 11, kLast);
  for (int rank = 0; rank < 2; ++rank) {
    run.addCollective(rank, 20, 21, kLast + 1);
    run.addCollective(rank, 30, 31, kLast + 2);
  }
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), 2);
  EXPECT_EQ(collectives[0].sequence, kLast + 1);
  EXPECT_EQ(collectives[1].sequence, kLast + 2);
}

}  // namespace
}  // namespace lockstep::analysis
