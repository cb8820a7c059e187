// What ranks of the nccl backend see when something goes wrong.

#include <gmock/gmock.h>

#include <chrono>
#include <latch>

#include "tests/engine/process_group/nccl/NcclRanks.h"

namespace lockstep::process_group::nccl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

/// Ranks that have a communicator. What one of them breaks then cannot reach the operation that
/// made it.
class Acquainted {
 public:
  explicit Acquainted(int size) : done_(size) {}
  void come(ProcessGroup& group) {
    group.allreduce({filled(10, 1)})->wait(seconds(10));
    done_.arrive_and_wait();
  }

 private:
  std::latch done_;
};

TEST(NcclFailure, ATimeOutAtTheFirstOperationNamesTheRanksThatHaveNotCome) {
  NcclRanks ranks(3);
  ranks.run([](ProcessGroup& group) {
    if (group.rank() == 2) {
      return;
    }
    EXPECT_THAT(
        textOf<CommError>([&] {
          group.allreduce({filled(10, 1)}, ReduceOp::kSum, within(milliseconds(1000), 4))->wait();
        }),
        AllOf(HasSubstr("allreduce #1 of group default"), HasSubstr("bucket 4"),
              HasSubstr("rank 2 has not come to the first operation on cpu")));
    EXPECT_NE(group.state(), GroupState::kSuccess);
  });
}

TEST(NcclFailure, TheRankThatMakesTheIdIsNamedWhenItDoesNotCome) {
  NcclRanks ranks(2);
  ranks.run([](ProcessGroup& group) {
    if (group.rank() == 0) {
      return;
    }
    EXPECT_THAT(
        textOf<CommError>([&] {
          group.allreduce({filled(10, 1)}, ReduceOp::kSum, within(milliseconds(300)))->wait();
        }),
        HasSubstr("rank 0 has not come to its first operation here"));
  });
}

TEST(NcclFailure, ATimeOutNamesOperationAndNumberAndHowFarTheDeviceCame) {
  NcclRanks ranks(2);
  Acquainted acquainted(2);
  std::latch done(2);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    acquainted.come(group);
    if (group.rank() == 0) {
      const auto work = group.allreduce({filled(10, 1)}, ReduceOp::kSum, within(milliseconds(400)));
      work->wait();  // orders the stream, and comes back
      const auto begun = steady_clock::now();
      EXPECT_THAT(textOf<CommError>([&] { work->wait(seconds(20)); }),
                  AllOf(HasSubstr("allreduce #2 of group default, rank 0"),
                        HasSubstr("timed out after 400 ms, begun on the device and not done"),
                        HasSubstr("rank 1 has not reported being in this operation")));
      EXPECT_LT(steady_clock::now() - begun, seconds(10));
      EXPECT_EQ(group.state(), GroupState::kTimeout);
      EXPECT_THAT(textOf<CommError>([&] { group.barrier()->wait(); }),
                  AllOf(HasSubstr("the group is broken: "), HasSubstr("allreduce #2")));
    }
    done.arrive_and_wait();
  });
}

TEST(NcclFailure, ARankHearsWhyAnotherOneGaveUp) {
  NcclRanks ranks(2);
  Acquainted acquainted(2);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    acquainted.come(group);
    if (group.rank() == 0) {
      group.abort("this test ends it");
      return;
    }
    const auto work = group.allreduce({filled(10, 1)});
    EXPECT_THAT(textOf<CommError>([&] { work->wait(seconds(15)); }),
                HasSubstr("rank 0 gave up: aborted: this test ends it"))
        << "not only what NCCL says when the connection is gone";
    EXPECT_EQ(group.state(), GroupState::kRemoteError);
  });
}

TEST(NcclFailure, ATimeOutOfWhatNcclHasNotBroughtToTheDeviceNamesTheRanksThatHaveNotCome) {
  NcclRanks ranks(2);
  Acquainted acquainted(2);
  std::latch done(2);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    acquainted.come(group);
    if (group.rank() == 0) {
      ranks.fabric.neverSettle(2, 0);
      EXPECT_THAT(
          textOf<CommError>([&] {
            group.allreduce({filled(10, 1)}, ReduceOp::kSum, within(milliseconds(1000)))->wait();
          }),
          AllOf(HasSubstr("timed out after 1000 ms, still on its way to the device"),
                HasSubstr("rank 1 has not reported being in this operation")));
    }
    done.arrive_and_wait();
  });
}

TEST(NcclFailure, CallsThatDoNotBelongTogetherAreNamed) {
  NcclRanks ranks(2);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    const auto work = group.allreduce({filled(10 + group.rank(), 1)});
    EXPECT_THAT(textOf<CommError>([&] { work->wait(seconds(15)); }),
                HasSubstr("the ranks do not make the same call: "));
  });
}

TEST(NcclFailure, AnErrorThatNcclNoticesBreaksTheGroup) {
  NcclRanks ranks(2);
  Acquainted acquainted(2);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    acquainted.come(group);
    if (group.rank() == 1) {
      return;  // gone, as far as rank 0 can see
    }
    ranks.fabric.failCommunicators(2, 0, "remote process exited or there was a network error");
    const auto work = group.allreduce({filled(10, 1)});
    EXPECT_THAT(textOf<CommError>([&] { work->wait(seconds(15)); }),
                AllOf(HasSubstr("allreduce #2 of group default, rank 0"),
                      HasSubstr("remote process exited"),
                      HasSubstr("rank 1 has not reported being in this operation")));
    EXPECT_EQ(group.state(), GroupState::kRemoteError);
  });
}

TEST(NcclFailure, AnErrorOfTheDeviceBreaksTheGroup) {
  NcclRanks ranks(2);
  const at::Tensor given = filled(10, 1);
  Acquainted acquainted(2);
  std::latch done(2);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    acquainted.come(group);
    if (group.rank() == 0) {
      ranks.of(0).failDevice("an illegal memory access was encountered");
      const auto work = group.allreduce({given});
      EXPECT_THAT(textOf<CommError>([&] { work->wait(seconds(15)); }),
                  HasSubstr("an illegal memory access was encountered"));
    }
    done.arrive_and_wait();
  });
  EXPECT_GT(given.use_count(), 1U) << "whether the device still works on it cannot be told";
}

TEST(NcclFailure, AnAbortWakesWhoeverWaitsWithinASecond) {
  NcclRanks ranks(2);
  Acquainted acquainted(2);
  std::latch done(2);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    acquainted.come(group);
    if (group.rank() == 0) {
      const auto work = group.allreduce({filled(10, 1)});
      const auto begun = steady_clock::now();
      work->abort();
      EXPECT_THAT(textOf<CommError>([&] { work->wait(seconds(15)); }),
                  HasSubstr("aborted by its caller"));
      EXPECT_LT(steady_clock::now() - begun, seconds(1));
    }
    done.arrive_and_wait();
  });
}

TEST(NcclFailure, TheEndOfAGroupEndsWhatIsInFlight) {
  NcclRanks ranks(2);
  ProcessGroup::WorkPtr left;
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    group.allreduce({filled(10, 1)})->wait(seconds(10));
    if (group.rank() == 0) {
      left = group.allreduce({filled(10, 1)});  // nobody else comes
    }
  });
  EXPECT_THAT(textOf<CommError>([&] { left->wait(seconds(1)); }),
              HasSubstr("the process group was destroyed before it was done"));
}

}  // namespace
}  // namespace lockstep::process_group::nccl
