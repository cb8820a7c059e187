// What an abort leaves: of a group, what every rank has put in; of one message, the group.

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <utility>

#include "tests/engine/process_group/AbortRounds.h"
#include "tests/engine/process_group/Backends.h"

namespace lockstep::process_group {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

class AbortOfAGroup : public BackendRanksTest {
 protected:
  static base::Result<std::shared_ptr<ProcessGroup>> makePart(std::shared_ptr<store::Store> store,
                                                              int rank) {
    return makeProcessGroup(backend(), std::move(store), rank, ranks(), quickOptions());
  }
};
LOCKSTEP_OVER_BACKENDS_AND_RANKS(AbortOfAGroup, 2, 3);

TEST_P(AbortOfAGroup, UndoesNoStepThatARankHasTaken) {
  expectNoStepLost(ranks(), makePart);
}

TEST_P(AbortOfAGroup, LetsStepsEndAsLongAsOneEndsAfterAnother) {
  expectNoStepLost(ranks(), makePart, kAbortBeforeStepsThatTakeTheirTime);
}

using AbortOfAMessage = BackendTest;
LOCKSTEP_OVER_BACKENDS(AbortOfAMessage);

TEST_P(AbortOfAMessage, FreesItsWaiterAndLeavesTheGroupAndTheMessageItself) {
  runGroup(2, [](ProcessGroup& group) {
    at::Tensor tensor = filled(3, group.rank());
    if (group.rank() == 1) {
      group.barrier()->wait();
      group.send(tensor, 0)->wait();
      group.allreduce({tensor})->wait();
      return;
    }
    const auto work = group.recv(tensor, 1);
    auto waiter =
        std::async(std::launch::async, [&] { return textOf<CommError>([&] { work->wait(); }); });
    work->abort();
    EXPECT_THAT(waiter.get(), HasSubstr("recv #1 of group default, rank 0: aborted by its caller"));
    EXPECT_FALSE(work->isCompleted());
    group.barrier()->wait();  // which does not wait for it, either
    work->wait();
    EXPECT_TRUE(at::equal(tensor, filled(3, 1)));
    EXPECT_EQ(work->sourceRank(), 1);
    group.allreduce({tensor})->wait();
    EXPECT_TRUE(at::equal(tensor, filled(3, 2)));
    EXPECT_EQ(group.state(), GroupState::kSuccess);
  });
}

TEST_P(AbortOfAMessage, TakesItsTimeLimitFromIt) {
  runGroup(2, [](ProcessGroup& group) {
    CallOptions options;
    options.timeout = std::chrono::milliseconds(100);
    at::Tensor tensor = filled(3, group.rank());
    ProcessGroup::WorkPtr work;
    if (group.rank() == 0) {
      work = group.recv(tensor, 1, 0, options);
      work->abort();
      EXPECT_THROW(work->wait(), CommError);
      // It has been looked at since its time has passed: this limit passes after its own would.
      EXPECT_THROW(group.recv(at::empty({1}), 1, 1)->wait(std::chrono::milliseconds(400)),
                   CommError);
    }
    group.allreduce({filled(1, 1)})->wait();
    EXPECT_EQ(group.state(), GroupState::kSuccess);
    if (group.rank() == 1) {
      group.send(filled(1, 1), 0, 1)->wait();
      group.send(tensor, 0)->wait();
    } else {
      work->wait();
      EXPECT_TRUE(at::equal(tensor, filled(3, 1)));
    }
  });
}

TEST_P(AbortOfAMessage, IsNotWaitedForAtTheEndOfTheGroup) {
  const auto begin = steady_clock::now();
  ProcessGroup::WorkPtr work;
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      work = group.recv(filled(3, 0), 1);
      work->abort();
    }
    group.allreduce({filled(1, 1)})->wait();
  });
  EXPECT_LT(steady_clock::now() - begin, seconds(4));
  if (work != nullptr) {  // of this process's rank
    EXPECT_THAT(textOf<CommError>([&] { std::rethrow_exception(work->exception()); }),
                HasSubstr("the process group was destroyed before it was done"));
  }
}

}  // namespace
}  // namespace lockstep::process_group
