// What ranks of one host see when something goes wrong between them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <latch>
#include <thread>

#include "tests/engine/process_group/shared_memory/SharedRanks.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

CallOptions within(milliseconds timeout, std::uint16_t bucket = trace::kNoBucket) {
  CallOptions options;
  options.timeout = timeout;
  options.bucket = bucket;
  return options;
}

TEST(SharedMemoryFailure, TimeOutNamesOperationBucketAndTheRankThatIsMissing) {
  for (const std::int64_t elements : {8, 1'000'000}) {
    std::latch done(3);
    runShared(3, [&](ProcessGroup& group) {
      if (group.rank() != 2) {
        const auto work =
            group.allreduce({at::ones({elements})}, ReduceOp::kSum, within(milliseconds(300), 4));
        try {
          work->wait();
          ADD_FAILURE() << "the allreduce ended without rank 2";
        } catch (const CommError& error) {
          // The first to notice says so itself; the other may hear of it.
          EXPECT_THAT(error.what(),
                      AllOf(HasSubstr("allreduce #1 of group default, rank " +
                                      std::to_string(group.rank()) + ", bucket 4: "),
                            HasSubstr("timed out after 300 ms, waiting for rank 2, which has not "
                                      "come to this operation")));
          EXPECT_EQ(error.where().bucket, 4);
          EXPECT_EQ(error.where().peer, 2);
        }
      }
      done.arrive_and_wait();
    });
  }
}

TEST(SharedMemoryFailure, TimeLimitHoldsWhenNobodyWaits) {
  std::latch done(2);
  runShared(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      const auto work = group.allreduce({at::ones({8})}, ReduceOp::kSum, within(milliseconds(100)));
      const auto begin = steady_clock::now();
      while (!work->isCompleted() && steady_clock::now() - begin < seconds(10)) {
        std::this_thread::sleep_for(milliseconds(5));
      }
      EXPECT_THAT(textOf<CommError>([&] { work->wait(); }), HasSubstr("timed out after 100 ms"));
    }
    done.arrive_and_wait();
  });
}

TEST(SharedMemoryFailure, MissingRanksAreAllNamed) {
  std::latch done(4);
  runShared(4, [&](ProcessGroup& group) {
    if (group.rank() == 1) {
      EXPECT_THAT(textOf<CommError>([&] { group.barrier(within(milliseconds(100)))->wait(); }),
                  HasSubstr("waiting for ranks 0, 2, 3, which have not come"));
    }
    done.arrive_and_wait();
  });
}

TEST(SharedMemoryFailure, TellsTheOtherRanksWhyARankGaveUp) {
  runShared(2, [](ProcessGroup& group) {
    at::Tensor tensor = at::ones({8});
    if (group.rank() == 0) {
      EXPECT_THROW(group.recv(tensor, 1, 9, within(milliseconds(100)))->wait(), CommError);
    } else {
      EXPECT_THAT(textOf<CommError>([&] { group.broadcast({tensor}, 0)->wait(); }),
                  AllOf(HasSubstr("broadcast #1 of group default, rank 1: rank 0 gave up: given up "
                                  "because recv #1 failed: timed out after 100 ms, waiting for "
                                  "data from rank 1 (it waited for this rank)")));
    }
  });
}

// An operation that a rank has done its part of is none to be missed.
TEST(SharedMemoryFailure, LastOperationEndsThoughARankHasLeftMeanwhile) {
  const auto store = std::make_shared<store::HashStore>();
  for (int round = 0; round < 30; ++round) {
    GroupOptions options = quickOptions();
    options.groupName = "round " + std::to_string(round);
    support::runRanks(3, [&](int rank) {
      auto made = makeProcessGroup("shared_memory", store, rank, 3, options);
      ASSERT_TRUE(made.ok()) << made.error().message();
      at::Tensor tensor = filled(round % 2 == 0 ? 8 : 100'000, 1);
      made.value()->allreduce({tensor})->wait();
      EXPECT_EQ(tensor[7].item<float>(), 3);
    });
  }
}

TEST(SharedMemoryFailure, LetsOperationsInFlightEndWithTheGroup) {
  std::vector<at::Tensor> tensors(2);
  std::vector<ProcessGroup::WorkPtr> works(2);
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    auto made = makeProcessGroup("shared_memory", store, rank, 2, quickOptions());
    ASSERT_TRUE(made.ok()) << made.error().message();
    const auto index = static_cast<std::size_t>(rank);
    tensors[index] = filled(1'000'000, 1);
    for (int i = 0; i < 20; ++i) {  // more than there are slots
      works[index] = made.value()->allreduce({tensors[index]});
    }
  });
  for (const auto& work : works) {
    EXPECT_TRUE(work->isSuccess());
    work->wait();
  }
  EXPECT_TRUE(at::equal(tensors[0], filled(1'000'000, 1 << 20)));
}

TEST(SharedMemoryFailure, WaitWithALimitOfItsOwnGivesUpAloneInTime) {
  std::promise<void> gaveUp;
  runShared(2, [&](ProcessGroup& group) {
    at::Tensor tensor = filled(100'000, 1);
    if (group.rank() == 0) {
      const auto work = group.allreduce({tensor});
      const auto begin = steady_clock::now();
      EXPECT_THAT(textOf<CommError>([&] { work->wait(milliseconds(20)); }),
                  HasSubstr("timed out: not done after 20 ms of waiting"));
      EXPECT_LT(steady_clock::now() - begin, seconds(5));
      gaveUp.set_value();
      work->wait();
    } else {
      gaveUp.get_future().wait();
      group.allreduce({tensor})->wait();
    }
    EXPECT_TRUE(at::equal(tensor, filled(100'000, 2)));
  });
}

// Waits until a thread of this process sleeps.
void untilAsleep(pid_t thread) {
  char state = 'R';
  while (state != 'S') {
    std::ifstream stat(fmt::format("/proc/self/task/{}/stat", thread));
    stat.ignore(1000, ')') >> state;
  }
}

TEST(SharedMemoryFailure, EndsWhatAnotherThreadWaitsForWhenTheGroupGoes) {
  for (int round = 0; round < 10; ++round) {
    const auto store = std::make_shared<store::HashStore>();
    std::latch done(2);
    support::runRanks(2, [&](int rank) {
      auto made = makeProcessGroup("shared_memory", store, rank, 2, quickOptions(seconds(60)));
      ASSERT_TRUE(made.ok()) << made.error().message();
      auto group = std::move(made).value();
      if (rank == 0) {
        const auto work = group->allreduce({at::ones({1})});
        std::promise<pid_t> started;
        std::thread waiter([&] {
          started.set_value(gettid());
          EXPECT_THROW(work->wait(), CommError);
        });
        untilAsleep(started.get_future().get());  // it drives the operation
        const auto future = work->future();
        group->abort("the end");
        group.reset();
        EXPECT_TRUE(future.waitFor(seconds(5)));
        waiter.join();
      }
      done.arrive_and_wait();
    });
  }
}

TEST(SharedMemoryFailure, AlltoallOfTwoRanksThatDoNotAgreeFailsOnAll) {
  runShared(3, [](ProcessGroup& group) {
    const bool expectsLess = group.rank() == 1;
    const at::Tensor input = at::ones({3});
    at::Tensor output = at::zeros({expectsLess ? 2 : 3});
    const std::vector<std::int64_t> splits =
        expectsLess ? std::vector<std::int64_t>{0, 1, 1} : std::vector<std::int64_t>{1, 1, 1};
    EXPECT_THAT(textOf<CommError>([&] {
                  group.alltoall(output, input, splits, {1, 1, 1})->wait();
                }),
                HasSubstr("rank 0 sends 4 bytes to rank 1, which expects 0"));
  });
}

TEST(SharedMemoryFailure, NamesTheRanksWhoseLargeCallsDiffer) {
  for (const bool exposed : {false, true}) {
    runShared(2, [&](ProcessGroup& group) {
      const std::int64_t elements = group.rank() == 0 ? 500'000 : 500'001;
      at::Tensor tensor =
          exposed ? group.allocate(elements * 4).view(at::kFloat) : at::empty({elements});
      tensor.fill_(1);
      EXPECT_THAT(textOf<CommError>([&] { group.allreduce({tensor})->wait(); }),
                  AllOf(HasSubstr("rank 0 allreduce(sum) of 500000 float"),
                        HasSubstr("rank 1 allreduce(sum) of 500001 float")));
      EXPECT_TRUE(at::equal(tensor, at::ones_like(tensor))) << "no data was mixed";
    });
  }
}

}  // namespace
}  // namespace lockstep::process_group
