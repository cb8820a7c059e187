#include "engine/process_group/operation/Ledger.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class LedgerTest : public testing::Test {
 protected:
  std::shared_ptr<OpenCall> enter(trace::Operation operation) {
    Call call;
    call.operation = operation;
    call.options.bucket = 3;
    ledger.number(call);
    auto open = std::make_shared<OpenCall>(std::move(call), milliseconds(1000));
    ledger.enter(
        open, {at::ones({2})}, [this](const auto& aborted) { abortedOnes.push_back(aborted); },
        nullptr);
    return open;
  }
  [[nodiscard]] std::uint32_t oldest() { return tracer.lastWords().sequence.load(); }

  trace::Tracer tracer;
  const Member member{1, 4, [this] {
                        GroupOptions options;
                        options.tracer = &tracer;
                        return options;
                      }()};
  const Records records{member, "queue"};
  Ledger<OpenCall> ledger{member, records};
  std::vector<std::shared_ptr<OpenCall>> abortedOnes;
};

TEST_F(LedgerTest, NumbersMessagesApartFromCollectives) {
  EXPECT_EQ(enter(trace::Operation::kAllreduce)->call.sequence, 1u);
  const auto sent = enter(trace::Operation::kSend);
  EXPECT_EQ(sent->call.sequence, 1u);
  EXPECT_EQ(sent->entry, 2u);
  EXPECT_EQ(enter(trace::Operation::kBarrier)->call.sequence, 2u);
  EXPECT_EQ(ledger.sequence(), 2u);
}

TEST_F(LedgerTest, TellsOfTheCallThatHasBeenOpenLongest) {
  const auto first = enter(trace::Operation::kAllreduce);
  const auto second = enter(trace::Operation::kAllreduce);
  EXPECT_EQ(oldest(), 1u);
  ledger.end(*first);
  EXPECT_EQ(oldest(), 2u) << "though callbacks of the first are yet to run";
  second->abandoned = true;
  ledger.remove(*first);
  EXPECT_EQ(tracer.lastWords().operation.load(), 0) << "nobody waits for what is abandoned";
  EXPECT_TRUE(ledger.onlyAbandoned());
}

TEST_F(LedgerTest, OfABrokenGroupFailsWhatComesLaterAndSparesTheRest) {
  const auto before = enter(trace::Operation::kAllreduce);
  EXPECT_TRUE(ledger.breakBy(Failure{"rank 2 has gone", 2, CommErrorKind::kNetwork}));
  EXPECT_FALSE(ledger.breakBy(Failure{"and so has rank 3", 3, CommErrorKind::kNetwork}));
  const auto after = enter(trace::Operation::kAllreduce);
  EXPECT_TRUE(after->failed());
  EXPECT_EQ(after->failure().what, "the group is broken: rank 2 has gone");
  EXPECT_FALSE(ledger.calls().contains(after->entry));
  EXPECT_EQ(ledger.state(), GroupState::kCommError);
  EXPECT_TRUE(ledger.spares());
  before->fail(Failure{"too late", -1, CommErrorKind::kTimeout});
  EXPECT_FALSE(ledger.spares());
}

TEST_F(LedgerTest, HandsAnAbortToTheBackendWhileTheCallIsThere) {
  auto open = enter(trace::Operation::kAllreduce);
  const auto work = open->work;
  work->abort();
  EXPECT_THAT(abortedOnes, testing::ElementsAre(open));
  ledger.remove(*open);
  abortedOnes.clear();
  open.reset();
  work->abort();
  EXPECT_TRUE(abortedOnes.empty());
}

TEST_F(LedgerTest, GivesAFailureItsPlace) {
  const auto open = enter(trace::Operation::kAllreduce);
  EXPECT_TRUE(open->fail(Failure{"timed out", 2, CommErrorKind::kTimeout, {2}}));
  EXPECT_FALSE(open->fail(Failure{"lost", 3})) << "the first counts";
  open->work->fail(open->error());
  try {
    open->work->wait();
    FAIL() << "it has failed";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("allreduce #1 of group default, rank 1, bucket 3: timed"));
    EXPECT_EQ(error.where().peer, 2);
    EXPECT_TRUE(error.where().timedOut);
    EXPECT_THAT(error.where().culprits, testing::ElementsAre(2));
  }
  EXPECT_EQ(givenUpFor(open->call, open->failure()).what,
            "given up because allreduce #1 failed: timed out");
}

}  // namespace
}  // namespace lockstep::process_group
