// How the errors of a part become those of the whole group.

#include "engine/process_group/hierarchical/Part.h"

#include <gtest/gtest.h>

namespace lockstep::process_group::hierarchical {
namespace {

std::exception_ptr failed(const std::string& reason, int peer, CommErrorKind kind) {
  CommError::Where where;
  where.rank = 0;
  where.peer = peer;
  where.kind = kind;
  return std::make_exception_ptr(CommError(where, reason));
}

TEST(Renumbered, ReplacesRanksAndListsOfRanksOnly) {
  const std::vector<int> members = {4, 6, 10};
  EXPECT_EQ(renumbered("lost the connection to rank 1; ranks 0, 2 wait 1000 ms", members),
            "lost the connection to rank 6; ranks 4, 10 wait 1000 ms");
  EXPECT_EQ(renumbered("Rank 2 and bucket 1, frank 1", members), "Rank 10 and bucket 1, frank 6");
  EXPECT_EQ(renumbered("rank 7, rank", members), "rank 7, rank");
}

TEST(FailureOf, NamesThePeerInTheNumbersOfTheWholeGroup) {
  const Part part{nullptr, {1, 3}, "within the host"};
  const Failure failure =
      failureOf(failed("lost the connection to rank 1", 1, CommErrorKind::kNetwork), part, 1);
  EXPECT_EQ(failure.what, "within the host: lost the connection to rank 3");
  EXPECT_EQ(failure.peer, 3);
  EXPECT_EQ(failure.kind, CommErrorKind::kNetwork);
}

TEST(FailureOf, FindsTheFirstCauseWhicheverWayItCame) {
  const Part here{nullptr, {1, 3}, "within the host"};
  const Part across{nullptr, {0, 1}, "across hosts"};
  const Failure first =
      failureOf(failed("lost the connection to rank 1", 1, CommErrorKind::kNetwork), here, 1);
  const Failure second = failureOf(
      failed("rank 1 gave up: aborted: " + told(first) + "; so", 1, CommErrorKind::kRemote), across,
      0);
  EXPECT_EQ(second.what, "rank 1 gave up: within the host: lost the connection to rank 3");
  EXPECT_EQ(second.peer, 3);
  EXPECT_EQ(second.kind, CommErrorKind::kRemote);
  const Failure third =
      failureOf(failed("aborted: " + told(second), -1, CommErrorKind::kAborted), across, 2);
  EXPECT_EQ(third.what, second.what);
}

TEST(FailureOf, TellsARankThatItWasWaitedFor) {
  Failure cause;
  cause.origin = 0;
  cause.peer = 2;
  cause.cause = "timed out";
  const Part part{nullptr, {0, 2}, "across hosts"};
  const Failure failure =
      failureOf(failed("aborted: " + told(cause), -1, CommErrorKind::kAborted), part, 2);
  EXPECT_EQ(failure.what, "rank 0 gave up: timed out (it waited for this rank)");
  EXPECT_EQ(failure.peer, 0);
}

}  // namespace
}  // namespace lockstep::process_group::hierarchical
