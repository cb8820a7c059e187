#include <gmock/gmock.h>

#include "engine/analysis/Tail.h"

namespace lockstep::analysis {
namespace {

using testing::EndsWith;
using testing::StartsWith;

TailItem itemOf(TailCause cause) {
  TailItem item;
  item.cause = cause;
  item.operation = trace::Operation::kBroadcast;
  return item;
}

TEST(TailWords, SayThatACollectiveOutsideTheBucketsIsWaitedFor) {
  const TailItem item = itemOf(TailCause::kOutsideBuckets);
  EXPECT_EQ(name(item.cause), "outside the buckets");
  EXPECT_EQ(title(item), "broadcast outside the buckets");
  EXPECT_EQ(explanation(item),
            "The broadcast belongs to no bucket (it may carry buffers, batch statistics or sharded "
            "parameters, or be a call of the script or of a hook), and the step waits for it.");
}

TEST(TailWords, SayThatNothingComputesWhileDataParallelCopies) {
  const TailItem item = itemOf(TailCause::kCopies);
  EXPECT_EQ(title(item), "copies between devices");
  EXPECT_EQ(explanation(item),
            "DataParallel copies inputs, parameters, outputs and gradients between its devices, "
            "and nothing computes meanwhile.");
}

TEST(TailWords, AccuseNobodyWhereTheClocksOrTheRecordCannotTell) {
  TailItem item = itemOf(TailCause::kUnevenRanks);
  item.contextMs = 3;
  EXPECT_EQ(title(item), "uneven ranks, unclear which");
  EXPECT_EQ(explanation(item),
            "The last rank came 3.00 ms later: on different hosts, whose clocks are not known well "
            "enough to tell which that was.");
  EXPECT_EQ(explanation(itemOf(TailCause::kUnknown)),
            "Waiting and transfer cannot be told apart here: it is a send or a receive, or a rank "
            "has no record of the collective.");
}

TEST(TailWords, NameARankThatIsLateToWhatHasNoBucket) {
  TailItem item = itemOf(TailCause::kLateRank);
  item.peer = 2;
  item.contextMs = 5;
  EXPECT_EQ(explanation(item), "Rank 2 came 5.00 ms later to a collective of no bucket.");
  item.bucket = 4;
  item.readyLaterMs = std::optional(1.0);
  EXPECT_THAT(explanation(item), EndsWith(", though its gradients were ready in time: its hook or "
                                          "its communication thread was late."));
}

TEST(TailWords, NameALateBucket) {
  TailItem item = itemOf(TailCause::kLateBucket);
  item.bucket = 4;
  EXPECT_EQ(title(item), "late bucket 4");
}

TEST(TailWords, DoNotBlameTheLinkAloneWhereTheStepThreadHadNoCore) {
  TailItem item = itemOf(TailCause::kSlowLink);
  item.calls = 1;
  item.transferMs = 10;
  item.contextMs = 4;
  item.coreWaitMs = 0.9;
  EXPECT_EQ(explanation(item),
            "A step's transfer takes 10.00 ms, its backward computes 4.00 ms: the rest no order of "
            "the buckets could hide.");
  item.coreWaitMs = 3;
  EXPECT_THAT(explanation(item), StartsWith("A step's transfer takes 10.00 ms, "));
  EXPECT_THAT(explanation(item),
              EndsWith(" The rank's step thread was ready and had no core for 3.00 ms a step, so "
                       "that the transfers alone may take less than that."));
}

}  // namespace
}  // namespace lockstep::analysis
