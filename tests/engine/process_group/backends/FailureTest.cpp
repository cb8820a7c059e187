// What ranks that live see when something goes wrong between them.

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <latch>

#include "engine/store/HashStore.h"
#include "tests/engine/process_group/Backends.h"
#include "tests/support/RankThreads.h"

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

using BackendFailure = BackendTest;
LOCKSTEP_OVER_BACKENDS(BackendFailure);

TEST_P(BackendFailure, LaterOperationsFailAtOnceAndSayWhy) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      const auto first = group.barrier(within(milliseconds(100)));
      EXPECT_THROW(first->wait(), CommError);
      for (const auto& work : {group.allreduce({at::ones({1})}), group.send(at::ones({1}), 1)}) {
        EXPECT_TRUE(work->isCompleted());
        EXPECT_THAT(textOf<CommError>([&] { work->wait(); }),
                    AllOf(HasSubstr("the group is broken: "), HasSubstr("barrier #1"),
                          HasSubstr("timed out after 100 ms")));
      }
    }
    done.arrive_and_wait();
  });
}

TEST_P(BackendFailure, NamesTheRanksWhoseSizesDiffer) {
  runGroup(2, [](ProcessGroup& group) {
    at::Tensor tensor = at::ones({group.rank() == 0 ? 1000 : 1001});
    EXPECT_THAT(textOf<CommError>([&] { group.allreduce({tensor})->wait(); }),
                AllOf(HasSubstr("allreduce #1 of group default"),
                      HasSubstr("the ranks do not make the same call"),
                      HasSubstr("rank 0 allreduce(sum) of 1000 float"),
                      HasSubstr("rank 1 allreduce(sum) of 1001 float")));
    EXPECT_TRUE(at::equal(tensor, at::ones_like(tensor))) << "no data was mixed";
  });
}

TEST_P(BackendFailure, NamesTheRanksWhoseDtypesDiffer) {
  runGroup(2, [](ProcessGroup& group) {
    // The same number of bytes.
    at::Tensor tensor = group.rank() == 0 ? at::ones({8}, at::kFloat) : at::ones({4}, at::kDouble);
    EXPECT_THAT(textOf<CommError>([&] { group.broadcast({tensor}, 0)->wait(); }),
                AllOf(HasSubstr("rank 0 broadcast from rank 0 of 8 float"),
                      HasSubstr("rank 1 broadcast from rank 0 of 4 double")));
  });
}

TEST_P(BackendFailure, NamesTheRanksWhoseReduceOperationsDiffer) {
  runGroup(3, [](ProcessGroup& group) {
    at::Tensor tensor = filled(300'000, 1);
    const ReduceOp op = group.rank() == 2 ? ReduceOp::kMax : ReduceOp::kSum;
    EXPECT_THAT(textOf<CommError>([&] { group.allreduce({tensor}, op)->wait(); }),
                AllOf(HasSubstr("the ranks do not make the same call"),
                      HasSubstr("rank 2 allreduce(max) of 300000 float")));
  });
}

TEST_P(BackendFailure, NamesTheRanksWhoseRootsDiffer) {
  runGroup(2, [](ProcessGroup& group) {
    at::Tensor tensor = at::ones({3});
    EXPECT_THAT(textOf<CommError>([&] { group.broadcast({tensor}, group.rank())->wait(); }),
                AllOf(HasSubstr("rank 0 broadcast from rank 0 of 3 float"),
                      HasSubstr("rank 1 broadcast from rank 1 of 3 float")));
  });
}

TEST_P(BackendFailure, NamesTheRanksWhoseOperationsDiffer) {
  runGroup(2, [](ProcessGroup& group) {
    const auto work = group.rank() == 0 ? group.barrier() : group.allreduce({at::ones({3})});
    EXPECT_THAT(textOf<CommError>([&] { work->wait(); }),
                AllOf(HasSubstr("rank 0 barrier"), HasSubstr("rank 1 allreduce(sum) of 3 float")));
  });
}

TEST_P(BackendFailure, NamesTheRanksWhoseAlltoallSplitsDiffer) {
  runGroup(2, [](ProcessGroup& group) {
    at::Tensor input = at::ones({4});
    at::Tensor output = at::ones({group.rank() == 0 ? 5 : 4});
    const std::vector<std::int64_t> splits =
        group.rank() == 0 ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{2, 2};
    EXPECT_THAT(
        textOf<CommError>([&] { group.alltoall(output, input, splits, {2, 2})->wait(); }),
        HasSubstr("rank 1 sends 8 bytes to rank 0, which expects 12"));
  });
}

TEST_P(BackendFailure, AbortWakesEveryWaiterWithinASecond) {
  std::latch waiting(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 1) {
      waiting.arrive_and_wait();
      EXPECT_THROW(group.barrier()->wait(), CommError);
      return;
    }
    std::vector<ProcessGroup::WorkPtr> works;
    at::Tensor tensor = at::ones({1});
    for (int i = 0; i < 5; ++i) {  // more than there are workers
      works.push_back(group.allreduce({tensor}));
    }
    works.push_back(group.recv(tensor, 1));
    works.push_back(group.send(tensor, 1));
    std::vector<std::future<std::string>> waiters;
    for (const auto& work : works) {
      waiters.push_back(std::async(std::launch::async, [work] {
        return textOf<CommError>([&] { work->wait(); });
      }));
    }
    const auto begin = steady_clock::now();
    group.abort("the user pressed stop");
    for (auto& waiter : waiters) {
      EXPECT_THAT(waiter.get(), HasSubstr("aborted: the user pressed stop"));
    }
    EXPECT_LT(steady_clock::now() - begin, seconds(1));
    EXPECT_THAT(textOf<CommError>([&] { group.barrier()->wait(); }),
                HasSubstr("the group is broken: aborted: the user pressed stop"));
    waiting.arrive_and_wait();
  });
}

TEST_P(BackendFailure, AbortOfOneCollectiveBreaksItsGroup) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      const auto work = group.allreduce({at::ones({1})});
      work->abort();
      EXPECT_THAT(textOf<CommError>([&] { work->wait(); }), HasSubstr("aborted by its caller"));
      EXPECT_THROW(group.barrier()->wait(), CommError);
    }
    done.arrive_and_wait();
  });
}

TEST_P(BackendFailure, TellsARankThatLeftFromOneThatDied) {
  const auto store = std::make_shared<store::HashStore>();
  std::promise<void> left;
  const auto gone = left.get_future().share();
  std::latch first(3);
  support::runRanks(3, [&](int rank) {
    auto made = makeProcessGroup(backend(), store, rank, 3, quickOptions());
    ASSERT_TRUE(made.ok()) << made.error().message();
    std::shared_ptr<ProcessGroup> group = std::move(made).value();
    group->allreduce({filled(8, 1)})->wait();
    first.arrive_and_wait();
    if (rank == 1) {
      group.reset();
      left.set_value();
      return;
    }
    gone.wait();
    const auto begin = steady_clock::now();
    EXPECT_THAT(textOf<CommError>([&] { group->allreduce({filled(8, 1)})->wait(); }),
                HasSubstr("rank 1 has left the group"));
    EXPECT_LT(steady_clock::now() - begin, seconds(2));
    EXPECT_THAT(textOf<CommError>([&] { group->recv(filled(8, 1), 1)->wait(); }),
                HasSubstr("rank 1 has left the group"));
  });
}

TEST_P(BackendFailure, CallbacksSeeTheError) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      const auto work = group.allreduce({at::ones({1})}, ReduceOp::kSum, within(milliseconds(100)));
      const auto after = work->future().then([](const std::vector<at::Tensor>&) { return 1; });
      ASSERT_TRUE(after.waitFor(seconds(10)));
      EXPECT_TRUE(after.failed());
      EXPECT_THROW(static_cast<void>(after.value()), CommError);
    }
    done.arrive_and_wait();
  });
}

TEST_P(BackendFailure, GroupTimeOutHoldsForCallsWithoutTheirOwn) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    EXPECT_EQ(group.timeout(), seconds(20));
    group.setTimeout(milliseconds(150));
    EXPECT_EQ(group.timeout(), milliseconds(150));
    EXPECT_THROW(group.setTimeout(milliseconds(0)), std::invalid_argument);
    if (group.rank() == 0) {
      EXPECT_THAT(textOf<CommError>([&] { group.barrier()->wait(); }),
                  HasSubstr("timed out after 150 ms"));
    }
    done.arrive_and_wait();
  });
}

}  // namespace
}  // namespace lockstep::process_group
