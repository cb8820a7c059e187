#include "engine/process_group/operation/Matching.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <string>

namespace lockstep::process_group {
namespace {

using Sends = Matching<OpenCall, Direct<OpenCall>, std::string>;

Direct<OpenCall> direct(trace::Operation operation, int peer, int tag) {
  Call call;
  call.operation = operation;
  call.root = peer;
  return {std::make_shared<OpenCall>(std::move(call), std::chrono::milliseconds(1000)),
          at::empty({0}), tag};
}

Direct<OpenCall> receive(int source, int tag) {
  return direct(trace::Operation::kRecv, source, tag);
}

TEST(Matching, GivesAReceiveTheOldestOfferOfItsSourceAndTag) {
  Sends sends;
  sends.keep(2, 7, "another tag");
  sends.keep(1, 5, "another source");
  sends.keep(2, 5, "the first");
  sends.keep(2, 5, "the second");
  auto wanted = receive(2, 5);
  EXPECT_EQ(sends.meet(wanted)->offer, "the first");
  wanted = receive(-1, 5);
  const auto any = sends.meet(wanted);
  EXPECT_EQ(any->offer, "another source");
  EXPECT_EQ(any->source, 1);
}

TEST(Matching, GivesAnOfferToTheReceiveThatWasCalledFirst) {
  Sends sends;
  auto first = receive(-1, 5);
  auto second = receive(2, 5);
  EXPECT_FALSE(sends.meet(first));
  sends.wait(first);
  sends.wait(second);
  EXPECT_FALSE(sends.taker(2, 6));
  EXPECT_EQ(sends.taker(2, 5)->open, first.open);
  EXPECT_EQ(sends.taker(2, 5)->open, second.open);
  EXPECT_FALSE(sends.receiving());
}

TEST(Matching, EndsASendByTheAnswerOfItsOwnPeer) {
  Sends sends;
  const auto sent = direct(trace::Operation::kSend, 1, 0);
  const std::uint64_t id = sends.nextId();
  sends.sent(id, sent);
  EXPECT_FALSE(sends.answered(id, 2)) << "which it was not sent to";
  EXPECT_EQ(sends.answered(id, 1)->open, sent.open);
  EXPECT_FALSE(sends.answered(id, 1));
}

TEST(Matching, GivesBackWhatHasFailed) {
  Sends sends;
  const auto failing = receive(1, 0);
  sends.wait(failing);
  sends.wait(receive(2, 0));
  sends.sent(sends.nextId(), direct(trace::Operation::kSend, 1, 0));
  failing.open->fail(Failure{"timed out"});
  const auto failed = sends.takeFailed();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].open, failing.open);
  EXPECT_TRUE(sends.receiving());
  EXPECT_TRUE(sends.sending());
}

TEST(Matching, SaysToBothRanksWhatDoesNotFit) {
  const Content threeFloats{3, static_cast<std::int32_t>(at::kFloat)};
  const Content twoInts{2, static_cast<std::int32_t>(at::kInt)};
  EXPECT_EQ(refusedHere(1, threeFloats, twoInts).what,
            "rank 1 sends 3 Float, this rank expects 2 Int");
  EXPECT_EQ(refusedThere(0, twoInts, threeFloats).what,
            "rank 0 expects 2 Int, this rank sends 3 Float");
}

TEST(OpenCall, SaysWhomAMessageWaitsFor) {
  EXPECT_EQ(direct(trace::Operation::kSend, 1, 0).open->waitingFor(),
            "waiting for rank 1 to take data");
  EXPECT_EQ(receive(2, 0).open->waitingFor(), "waiting for data from rank 2");
  EXPECT_EQ(receive(-1, 0).open->waitingFor(), "waiting for data from any rank");
}

TEST(OpenCall, SaysWhereItIs) {
  Call call;
  call.operation = trace::Operation::kAllreduce;
  OpenCall open(std::move(call), std::chrono::milliseconds(300));
  EXPECT_EQ(open.timedOut(open.waitingFor()), "timed out after 300 ms, still in the queue");
  EXPECT_TRUE(open.leaveQueue());
  EXPECT_FALSE(open.leaveQueue()) << "twice";
  EXPECT_EQ(open.timedOut(open.waitingFor()), "timed out after 300 ms");
  open.setWaiting(OpenCall::Waiting::kAll);
  EXPECT_EQ(open.waitingFor(), "waiting for the other ranks");
}

}  // namespace
}  // namespace lockstep::process_group
