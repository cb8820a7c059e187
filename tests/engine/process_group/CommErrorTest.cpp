#include "engine/process_group/CommError.h"

#include <gmock/gmock.h>

namespace lockstep::process_group {
namespace {

TEST(CommError, NamesOperationSequenceGroupRankAndBucket) {
  CommError::Where where;
  where.group = "default";
  where.rank = 1;
  where.operation = trace::Operation::kAllreduce;
  where.sequence = 12;
  where.bucket = 3;
  EXPECT_STREQ(CommError(where, "lost").what(),
               "allreduce #12 of group default, rank 1, bucket 3: lost");
}

TEST(CommError, LeavesOutWhatIsNotKnown) {
  EXPECT_STREQ(CommError({}, "lost").what(), "process group: lost");
  CommError::Where where;
  where.operation = trace::Operation::kBarrier;
  where.rank = 0;
  EXPECT_STREQ(CommError(where, "lost").what(), "barrier, rank 0: lost");
}

TEST(CommError, KeepsItsKindAndTheTextWithoutThePlace) {
  CommError::Where where;
  where.operation = trace::Operation::kBarrier;
  where.kind = CommErrorKind::kNetwork;
  const CommError error(where, "lost");
  EXPECT_EQ(error.kind(), CommErrorKind::kNetwork);
  EXPECT_EQ(error.reason(), "lost");
  EXPECT_EQ(name(error.kind()), "network");
}

TEST(CommError, KindDecidesTheStateOfTheGroup) {
  EXPECT_EQ(stateAfter(CommErrorKind::kTimeout), GroupState::kTimeout);
  EXPECT_EQ(stateAfter(CommErrorKind::kRemote), GroupState::kRemoteError);
  EXPECT_EQ(stateAfter(CommErrorKind::kNetwork), GroupState::kCommError);
  EXPECT_EQ(stateAfter(CommErrorKind::kMismatch), GroupState::kCommError);
  EXPECT_EQ(name(GroupState::kRemoteError), "remote_error");
}

}  // namespace
}  // namespace lockstep::process_group
