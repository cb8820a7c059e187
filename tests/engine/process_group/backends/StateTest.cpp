// What a group says about its state after each kind of failure, and on the other ranks.

#include <gmock/gmock.h>

#include <chrono>
#include <latch>

#include "tests/engine/process_group/Backends.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

CommErrorKind kindOf(const std::function<void()>& function) {
  try {
    function();
  } catch (const CommError& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return CommErrorKind::kBackend;
}

using State = BackendTest;
LOCKSTEP_OVER_BACKENDS(State);

TEST_P(State, TimeOutHereIsARemoteErrorThere) {
  std::latch timedOut(2);
  runGroup(2, [&](ProcessGroup& group) {
    EXPECT_EQ(group.state(), GroupState::kSuccess);
    if (group.rank() == 0) {
      CallOptions options;
      options.timeout = milliseconds(150);
      const auto work = group.allreduce({filled(1, 1)}, ReduceOp::kSum, options);
      EXPECT_EQ(kindOf([&] { work->wait(); }), CommErrorKind::kTimeout);
      // Its group is broken and the other rank told when the next call is refused.
      EXPECT_THROW(group.barrier()->wait(), CommError);
      EXPECT_EQ(group.state(), GroupState::kTimeout);
      timedOut.arrive_and_wait();
      return;
    }
    timedOut.arrive_and_wait();
    const auto work = group.allreduce({filled(1, 1)});
    EXPECT_EQ(kindOf([&] { work->wait(); }), CommErrorKind::kRemote);
    EXPECT_THAT(textOf<CommError>([&] { work->wait(); }),
                HasSubstr("rank 0 gave up: given up because allreduce #1 failed: timed out"));
    EXPECT_THROW(group.barrier()->wait(), CommError);
    EXPECT_EQ(group.state(), GroupState::kRemoteError);
  });
}

TEST_P(State, MismatchAndAbortAreCommErrors) {
  runGroup(2, [](ProcessGroup& group) {
    const auto work =
        group.allreduce({filled(1, 1)}, group.rank() == 0 ? ReduceOp::kSum : ReduceOp::kMax);
    const CommErrorKind kind = kindOf([&] { work->wait(); });
    EXPECT_TRUE(kind == CommErrorKind::kMismatch || kind == CommErrorKind::kRemote);
    EXPECT_THROW(group.barrier()->wait(), CommError);
    EXPECT_NE(group.state(), GroupState::kSuccess);
  });
  runGroup(1, [](ProcessGroup& group) {
    group.abort("enough");
    EXPECT_EQ(kindOf([&] { group.barrier()->wait(); }), CommErrorKind::kAborted);
    EXPECT_EQ(group.state(), GroupState::kCommError);
  });
}

TEST_P(State, WaitThatGivesUpIsATimeOutOfTheWaiterAlone) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      const auto work = group.recv(filled(1, 1), 1);
      EXPECT_EQ(kindOf([&] { work->wait(milliseconds(1)); }), CommErrorKind::kTimeout);
      EXPECT_EQ(group.state(), GroupState::kSuccess);
      done.arrive_and_wait();
      work->wait();
    } else {
      done.arrive_and_wait();
      group.send(filled(1, 1), 0)->wait();
    }
  });
}

}  // namespace
}  // namespace lockstep::process_group
