#include "engine/process_group/Blame.h"

#include <gtest/gtest.h>

namespace lockstep::process_group {
namespace {

using Reasons = std::vector<std::pair<int, Failure>>;

Failure timedOutOn(int peer) {
  return Failure{"timed out on rank " + std::to_string(peer), peer, CommErrorKind::kTimeout};
}

TEST(Blame, NamesRanksThatWaitedForTheSameOneOnce) {
  const Blame blame = blameOf({{0, timedOutOn(1)}, {2, timedOutOn(1)}}, 3);
  EXPECT_EQ(blame.text, "ranks 0, 2 gave up: timed out on rank 1");
  EXPECT_EQ(blame.culprit, 1);
}

TEST(Blame, SaysThatThisRankWasWaitedFor) {
  EXPECT_EQ(blameOf({{0, timedOutOn(1)}, {2, timedOutOn(1)}}, 1).text,
            "ranks 0, 2 gave up: timed out on rank 1 (they waited for this rank)");
  EXPECT_EQ(blameOf({{0, timedOutOn(1)}}, 1).text,
            "rank 0 gave up: timed out on rank 1 (it waited for this rank)");
}

TEST(Blame, LeavesOutWhoFollowedAnotherRank) {
  const Failure followed{"lost the connection to rank 2", 2, CommErrorKind::kRemote};
  const Blame blame = blameOf({{0, followed}, {2, timedOutOn(1)}}, 3);
  EXPECT_EQ(blame.text, "rank 2 gave up: timed out on rank 1");
  EXPECT_EQ(blame.culprit, 1);
  EXPECT_EQ(blameOf({{0, followed}}, 3).text, "rank 0 gave up: lost the connection to rank 2")
      << "unless that one says nothing";
}

TEST(Blame, KeepsDifferentReasonsApart) {
  const Failure aborted{"aborted: stop", -1, CommErrorKind::kAborted};
  const Blame blame = blameOf({{0, aborted}, {1, timedOutOn(2)}}, 3);
  EXPECT_EQ(blame.text, "rank 0 gave up: aborted: stop; rank 1 gave up: timed out on rank 2");
  EXPECT_EQ(blame.culprit, 2);
  EXPECT_EQ(blameOf(Reasons{}, 0).text, "");
  EXPECT_EQ(blameOf(Reasons{}, 0).culprit, -1);
}

TEST(Blame, FollowsTheWaitingToTheRankThatSaysNothing) {
  const Told told{{}, {{0, {"allreduce #5", 1}}}};
  const Blame blame = blameForWaiting(told, 2, 3, 0);
  EXPECT_EQ(blame.text,
            ", which waits for rank 1 in allreduce #5; rank 1 has not reported being in this "
            "operation");
  EXPECT_EQ(blame.culprit, 1);
}

TEST(Blame, DoesNotMissARankThatIsStuckInAnotherOperation) {
  const Told told{{}, {{2, {"allreduce #5", 1}}}};
  EXPECT_EQ(blameForWaiting(told, 0, 3, 1).text,
            "; rank 1 has not reported being in this operation");
  EXPECT_EQ(blameForWaiting(Told{{{2, "note"}}, {}}, 0, 3, 1).text,
            "; rank 1 has not reported being in this operation");
  EXPECT_EQ(blameForWaiting(std::nullopt, 0, 3, 1).text, "");
}

TEST(Blame, EndsWhereRanksWaitForEachOther) {
  const Told cycle{{}, {{0, {"allreduce #5", 1}}, {1, {"allreduce #6", 0}}}};
  EXPECT_EQ(blameForWaiting(cycle, 2, 3, 0).text,
            ", which waits for rank 1 in allreduce #5, which waits for rank 0 in allreduce #6");
  const Told mine{{}, {{0, {"allreduce #5", 2}}}};
  const Blame blame = blameForWaiting(mine, 2, 3, 0);
  EXPECT_EQ(blame.text,
            ", which waits for this rank in allreduce #5; rank 1 has not reported being in this "
            "operation");
  EXPECT_EQ(blame.culprit, 0);
}

}  // namespace
}  // namespace lockstep::process_group
