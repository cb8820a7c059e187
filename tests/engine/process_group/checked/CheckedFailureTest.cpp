// Calls that differ between ranks, and ranks that do not come, under the checked wrapper.

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <future>
#include <latch>

#include "engine/process_group/checked/CheckedGroup.h"
#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

CallOptions inBucket(std::uint16_t bucket, milliseconds timeout = kNoTimeout) {
  CallOptions options;
  options.bucket = bucket;
  options.timeout = timeout;
  return options;
}

using Caller = std::function<ProcessGroup::WorkPtr(ProcessGroup&, at::Tensor)>;

// The last rank calls `odd`, the others call `plain`, with a tensor of sevens. All must get
// `text`, keep their sevens, and be able to go on.
void expectRefused(int size, const Caller& plain, const Caller& odd, const std::string& text) {
  runGroup(
      size,
      [&](ProcessGroup& group) {
        const auto begin = steady_clock::now();
        at::Tensor tensor = filled(6, 7);
        const bool last = group.rank() == group.size() - 1;
        const auto work = (last ? odd : plain)(group, tensor);
        try {
          work->wait();
          ADD_FAILURE() << "not refused on rank " << group.rank();
        } catch (const CommError& error) {
          EXPECT_EQ(error.reason(), "the ranks do not make the same call: " + text);
          EXPECT_EQ(error.kind(), CommErrorKind::kMismatch);
          EXPECT_EQ(error.where().sequence, 1u);
          EXPECT_EQ(error.where().peer, last ? 0 : group.size() - 1);
        }
        EXPECT_TRUE(at::equal(tensor, filled(6, 7))) << "no data moved";
        EXPECT_LT(steady_clock::now() - begin, seconds(5));
        EXPECT_EQ(group.state(), GroupState::kSuccess);
        group.allreduce({tensor})->wait();
        EXPECT_TRUE(at::equal(tensor, filled(6, 7 * group.size()))) << "the group goes on";
      },
      alwaysChecked());
}

ProcessGroup::WorkPtr allreduce(ProcessGroup& group, at::Tensor tensor) {
  return group.allreduce({tensor});
}

TEST(CheckedMismatch, OfTheReduceOperationIsRefused) {
  for (const int size : {2, 3}) {
    expectRefused(size, allreduce, [](ProcessGroup& group, at::Tensor tensor) {
      return group.allreduce({tensor}, ReduceOp::kMax);
    }, size == 2 ? "the reduce operation is sum on rank 0 and max on rank 1"
                 : "the reduce operation is sum on ranks 0, 1 and max on rank 2");
  }
}

TEST(CheckedMismatch, OfTheOperationIsRefused) {
  expectRefused(3, allreduce, [](ProcessGroup& group, at::Tensor tensor) {
    return group.broadcast({tensor}, 0);
  }, "the operation is allreduce on ranks 0, 1 and broadcast on rank 2");
  expectRefused(
      2, allreduce, [](ProcessGroup& group, at::Tensor) { return group.barrier(); },
      "the operation is allreduce on rank 0 and barrier on rank 1; the tensors are float [6] "
      "(cpu) on rank 0 and none on rank 1");
}

TEST(CheckedMismatch, OfTheRootIsRefused) {
  const auto from = [](int root) {
    return [root](ProcessGroup& group, at::Tensor tensor) {
      return group.broadcast({tensor}, root);
    };
  };
  for (const int size : {2, 3}) {
    expectRefused(size, from(0), from(1),
                  size == 2 ? "the root is rank 0 on rank 0 and rank 1 on rank 1"
                            : "the root is rank 0 on ranks 0, 1 and rank 1 on rank 2");
  }
}

TEST(CheckedMismatch, OfTheDtypeIsRefused) {
  for (const int size : {2, 3}) {
    expectRefused(
        size, allreduce,
        [](ProcessGroup& group, at::Tensor) {
          return group.allreduce({at::ones({6}, at::kDouble)});
        },
        size == 2 ? "the dtype is float on rank 0 and double on rank 1; the tensors are float [6] "
                    "(cpu) on rank 0 and double [6] (cpu) on rank 1"
                  : "the dtype is float on ranks 0, 1 and double on rank 2; the tensors are float "
                    "[6] (cpu) on ranks 0, 1 and double [6] (cpu) on rank 2");
  }
}

TEST(CheckedMismatch, OfTheSizeIsRefused) {
  for (const int size : {2, 3}) {
    expectRefused(
        size, allreduce,
        [](ProcessGroup& group, at::Tensor) { return group.allreduce({filled(7, 1)}); },
        size == 2 ? "the number of elements is 6 on rank 0 and 7 on rank 1; the tensors are float "
                    "[6] (cpu) on rank 0 and float [7] (cpu) on rank 1"
                  : "the number of elements is 6 on ranks 0, 1 and 7 on rank 2; the tensors are "
                    "float [6] (cpu) on ranks 0, 1 and float [7] (cpu) on rank 2");
  }
}

TEST(CheckedMismatch, OfTheShapeIsRefusedWithBothShapes) {
  expectRefused(
      3,
      [](ProcessGroup& group, at::Tensor tensor) {
        return group.allreduce({tensor.view({2, 3})});
      },
      [](ProcessGroup& group, at::Tensor tensor) {
        return group.allreduce({tensor.view({3, 2})});
      },
      "the shape is float [2, 3] (cpu) on ranks 0, 1 and float [3, 2] (cpu) on rank 2");
}

TEST(CheckedMismatch, OfTheBucketIsRefused) {
  const auto bucket = [](std::uint16_t number) {
    return [number](ProcessGroup& group, at::Tensor tensor) {
      return group.allreduce({tensor}, ReduceOp::kSum, inBucket(number));
    };
  };
  expectRefused(2, bucket(3), bucket(4), "the bucket is 3 on rank 0 and 4 on rank 1");
  expectRefused(2, bucket(3), allreduce, "the bucket is 3 on rank 0 and none on rank 1");
}

TEST(CheckedMismatch, OfTheNumberOfTensorsIsRefused) {
  expectRefused(
      2, allreduce,
      [](ProcessGroup& group, at::Tensor tensor) {
        return group.allreduce({tensor.narrow(0, 0, 2), tensor.narrow(0, 2, 4)});
      },
      "the number of tensors is 1 on rank 0 and 2 on rank 1; the tensors are float [6] (cpu) on "
      "rank 0 and float [2], float [4] (cpu) on rank 1");
}

TEST(CheckedMismatch, OfTheSplitsIsRefusedWithThePair) {
  const auto split = [](std::vector<std::int64_t> to) {
    return [to](ProcessGroup& group, at::Tensor tensor) {
      return group.alltoall(tensor, filled(6, 1), {3, 3}, to);
    };
  };
  expectRefused(2, split({3, 3}), [](ProcessGroup& group, at::Tensor tensor) {
    return group.alltoall(tensor, filled(5, 1), {3, 3}, {2, 3});
  }, "rank 1 sends 8 bytes to rank 0, which expects 12");
}

TEST(CheckedMismatch, OfOneCallLeavesTheOthersInFlightAlone) {
  runGroup(2, [](ProcessGroup& group) {
    at::Tensor before = filled(4, 1);
    at::Tensor after = filled(4, 1);
    const auto first = group.allreduce({before});
    const auto odd = group.allreduce({filled(4, 1)},
                                     group.rank() == 0 ? ReduceOp::kSum : ReduceOp::kProduct);
    const auto last = group.allreduce({after});
    EXPECT_THROW(odd->wait(), CommError);
    first->wait();
    last->wait();
    EXPECT_EQ(before[0].item<float>(), 2);
    EXPECT_EQ(after[0].item<float>(), 2);
  }, alwaysChecked());
}

TEST(CheckedFailure, NamesARankThatDoesNotComeWithItsLastCall) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    group.allreduce({filled(1, 1)}, ReduceOp::kSum, inBucket(5))->wait();
    if (group.rank() == 0) {
      const auto work =
          group.allreduce({filled(1, 1)}, ReduceOp::kSum, inBucket(3, milliseconds(400)));
      const auto behind = group.barrier();
      try {
        work->wait();
        ADD_FAILURE() << "rank 1 was not needed";
      } catch (const CommError& error) {
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr("allreduce #2 of group default, rank 0, bucket 3: before its "
                                    "data moved: timed out after 400 ms"),
                          HasSubstr("waiting for data from rank 1"),
                          HasSubstr("; the last call rank 1 took part in was allreduce #1, bucket "
                                    "5")));
        EXPECT_EQ(error.kind(), CommErrorKind::kTimeout);
        EXPECT_EQ(error.where().peer, 1);
      }
      EXPECT_THAT(textOf<CommError>([&] { behind->wait(); }),
                  HasSubstr("given up because allreduce #2, bucket 3 failed"));
      EXPECT_EQ(group.state(), GroupState::kTimeout);
      EXPECT_THAT(textOf<CommError>([&] { group.barrier()->wait(); }),
                  HasSubstr("the group is broken: given up because allreduce #2"));
    }
    done.arrive_and_wait();
    if (group.rank() == 1) {
      EXPECT_THAT(textOf<CommError>([&] { group.barrier()->wait(); }),
                  HasSubstr("rank 0 gave up"));
      EXPECT_EQ(group.state(), GroupState::kRemoteError);
    }
  }, alwaysChecked());
}

TEST(CheckedFailure, LeavesNoCallInTheLastWordsThatHasEnded) {
  std::array<trace::Tracer, 2> tracers;
  const auto store = std::make_shared<store::HashStore>();
  std::latch done(2);
  runGroups(
      2,
      [&](int rank) {
        GroupOptions options = alwaysChecked();
        options.tracer = &tracers.at(static_cast<std::size_t>(rank));
        return makeProcessGroup("gloo", store, rank, 2, options);
      },
      [&](ProcessGroup& group) {
        const int rank = group.rank();
        const auto& operation = tracers.at(static_cast<std::size_t>(rank)).lastWords().operation;
        const auto odd =
            group.allreduce({filled(1, 1)}, rank == 0 ? ReduceOp::kSum : ReduceOp::kMax);
        EXPECT_THROW(odd->wait(), CommError);
        EXPECT_EQ(operation.load(), 0) << "refused";
        if (rank == 0) {
          const auto alone =
              group.allreduce({filled(1, 1)}, ReduceOp::kSum, inBucket(3, milliseconds(400)));
          EXPECT_THROW(alone->wait(), CommError);
          EXPECT_EQ(operation.load(), 0) << "nobody came";
        }
        done.arrive_and_wait();
      });
}

TEST(CheckedFailure, AbortWakesEveryWaiterWithinASecond) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      std::vector<std::future<std::string>> waiters;
      for (int i = 0; i < 5; ++i) {
        waiters.push_back(std::async(std::launch::async, [work = group.allreduce({filled(1, 1)})] {
          return textOf<CommError>([&] { work->wait(); });
        }));
      }
      const auto begin = steady_clock::now();
      group.abort("the user pressed stop");
      for (auto& waiter : waiters) {
        EXPECT_THAT(waiter.get(), HasSubstr("aborted: the user pressed stop"));
      }
      EXPECT_LT(steady_clock::now() - begin, seconds(1));
      EXPECT_EQ(group.state(), GroupState::kCommError);
    }
    done.arrive_and_wait();
  }, alwaysChecked());
}

TEST(CheckedFailure, AbortOfOneWorkBreaksItsGroup) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      const auto work = group.allreduce({filled(1, 1)});
      work->abort();
      EXPECT_THAT(textOf<CommError>([&] { work->wait(); }),
                  HasSubstr("allreduce #1 was aborted by its caller"));
    }
    done.arrive_and_wait();
  }, alwaysChecked());
}

TEST(CheckedFailure, OfTheInnerGroupEndsTheChecksToo) {
  runGroup(2, [](ProcessGroup& group) {
    ProcessGroup& inner = dynamic_cast<CheckedGroup&>(group).inner();
    if (group.rank() == 0) {
      inner.abort("a fault below");
      EXPECT_THAT(textOf<CommError>([&] { group.allreduce({filled(1, 1)})->wait(); }),
                  HasSubstr("a fault below"));
      EXPECT_EQ(group.state(), GroupState::kCommError);
    } else {
      EXPECT_THAT(textOf<CommError>([&] { group.allreduce({filled(1, 1)})->wait(); }),
                  HasSubstr("a fault below"));
    }
  }, alwaysChecked());
}

TEST(CheckedFailure, RoundRobinUnderChecksIsRefusedAlike) {
  GroupOptions options = alwaysChecked();
  options.roundRobin = 3;
  runGroup(2, [](ProcessGroup& group) {
    for (int i = 0; i < 4; ++i) {
      const auto odd =
          group.allreduce({filled(2, 1)}, group.rank() == 0 ? ReduceOp::kSum : ReduceOp::kMin);
      at::Tensor fine = filled(2, 1);
      const auto good = group.allreduce({fine});
      EXPECT_THAT(textOf<CommError>([&] { odd->wait(); }), HasSubstr("the reduce operation is"));
      good->wait();
      EXPECT_EQ(fine[0].item<float>(), 2);
    }
  }, options);
}

}  // namespace
}  // namespace lockstep::process_group
