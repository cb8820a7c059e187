// Sequence numbers, operations in flight together, barriers and callbacks.

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/Thread.h"
#include "tests/engine/process_group/Backends.h"

namespace lockstep::process_group {
namespace {

using Order = BackendTest;
LOCKSTEP_OVER_BACKENDS(Order);

TEST_P(Order, NumbersOperationsFromOne) {
  runGroup(2, [](ProcessGroup& group) {
    EXPECT_EQ(group.sequenceNumber(), 0u);
    const auto first = group.allreduce({at::ones({1})});
    const auto second = group.barrier();
    EXPECT_EQ(first->sequence(), 1u);
    EXPECT_EQ(second->sequence(), 2u);
    EXPECT_EQ(group.sequenceNumber(), 2u);
    second->wait();
    EXPECT_TRUE(first->isSuccess());
  });
}

TEST_P(Order, NumbersSendAndRecvApart) {
  runGroup(3, [](ProcessGroup& group) {
    // Ranks 0 and 1 talk; rank 2 does not, and its numbers still agree.
    at::Tensor tensor = at::ones({1});
    if (group.rank() < 2) {
      (group.rank() == 0 ? group.send(tensor, 1) : group.recv(tensor, 0))->wait();
    }
    group.allreduce({tensor})->wait();
    EXPECT_EQ(group.sequenceNumber(), 1u);
  });
}

using Stress = BackendRanksTest;
LOCKSTEP_OVER_BACKENDS_AND_RANKS(Stress, 2, 4);

TEST_P(Stress, KeepsAThousandOperationsInFlightApart) {
  GroupOptions options = quickOptions(std::chrono::seconds(60));
  options.threads = 8;
  runGroup(
      ranks(),
      [](ProcessGroup& group) {
        constexpr int kOperations = 1000;
        std::vector<at::Tensor> tensors;
        std::vector<ProcessGroup::WorkPtr> works;
        for (int i = 0; i < kOperations; ++i) {
          tensors.push_back(filled(16 + i % 3, i * 10 + group.rank()));
          works.push_back(i % 2 == 0 ? group.broadcast({tensors.back()}, i % group.size())
                                     : group.allreduce({tensors.back()}, ReduceOp::kMax));
        }
        for (int i = 0; i < kOperations; ++i) {
          const auto index = static_cast<std::size_t>(i);
          works[index]->wait();
          const int rank = i % 2 == 0 ? i % group.size() : group.size() - 1;
          ASSERT_TRUE(at::equal(tensors[index], filled(16 + i % 3, i * 10 + rank))) << i;
        }
      },
      options);
}

TEST_P(Stress, KeepsGathersAndScattersOfEveryRootApart) {
  GroupOptions options = quickOptions(std::chrono::seconds(60));
  options.threads = 8;
  runGroup(
      ranks(),
      [](ProcessGroup& group) {
        constexpr int kOperations = 400;
        const auto size = static_cast<std::size_t>(group.size());
        std::vector<std::vector<at::Tensor>> gathered(kOperations);
        std::vector<at::Tensor> scattered(kOperations);
        std::vector<ProcessGroup::WorkPtr> works;
        for (int i = 0; i < kOperations; ++i) {
          const int root = i % group.size();
          std::vector<at::Tensor>& outputs = gathered[static_cast<std::size_t>(i)];
          std::vector<at::Tensor> inputs;
          if (group.rank() == root) {
            for (std::size_t rank = 0; rank < size; ++rank) {
              outputs.push_back(at::empty({3}));
              inputs.push_back(filled(5, i + static_cast<double>(rank)));
            }
          }
          works.push_back(group.gather(outputs, filled(3, i + group.rank()), root));
          scattered[static_cast<std::size_t>(i)] = at::empty({5});
          works.push_back(group.scatter(scattered[static_cast<std::size_t>(i)], inputs, root));
        }
        for (const auto& work : works) {
          work->wait();
        }
        for (int i = 0; i < kOperations; ++i) {
          const auto index = static_cast<std::size_t>(i);
          ASSERT_TRUE(at::equal(scattered[index], filled(5, i + group.rank())));
          for (std::size_t rank = 0; rank < gathered[index].size(); ++rank) {
            ASSERT_TRUE(at::equal(gathered[index][rank], filled(3, i + static_cast<double>(rank))));
          }
        }
      },
      options);
}

TEST_P(Order, BarrierEndsAfterAllEarlierOperations) {
  runGroup(2, [](ProcessGroup& group) {
    for (int round = 0; round < 20; ++round) {
      std::vector<ProcessGroup::WorkPtr> earlier;
      for (int i = 0; i < 5; ++i) {
        earlier.push_back(group.allreduce({at::ones({100'000})}));
      }
      at::Tensor message = at::ones({1});
      earlier.push_back(group.rank() == 0 ? group.send(message, 1) : group.recv(message, 0));
      group.barrier()->wait();
      for (const auto& work : earlier) {
        EXPECT_TRUE(work->isCompleted());
      }
    }
  });
}

TEST_P(Order, BarrierEndsOnlyOnceTheWorkOfAnEarlierOperationIsTold) {
  // On rank 0 a thread waits for the allgather, which rank 1 comes to later. Where that thread ends
  // it, it lets go of the input and is held there: all has moved, and the work knows nothing yet.
  std::promise<void> called;
  std::promise<void> held;
  std::promise<void> ended;
  const std::shared_future<void> barrierEnded = ended.get_future().share();
  runGroup(2, [&](ProcessGroup& group) {
    std::vector<float> numbers{1};
    if (group.rank() == 1) {
      called.get_future().wait();
      group.allgather({at::empty({1}), at::empty({1})}, at::ones({1}))->wait();
      group.barrier()->wait();
      return;
    }
    at::Tensor input = at::from_blob(
        numbers.data(), {1},
        [&](void*) {
          held.set_value();
          barrierEnded.wait_for(std::chrono::milliseconds(200));
        },
        at::kFloat);
    const auto earlier =
        group.allgather({at::empty({1}), at::empty({1})}, std::exchange(input, at::Tensor()));
    std::thread waiter([&] { earlier->wait(); });
    called.set_value();
    held.get_future().wait();
    group.barrier()->wait();
    EXPECT_TRUE(earlier->isCompleted());
    ended.set_value();
    waiter.join();
  });
}

TEST_P(Order, BarrierEndsOnlyOnceEveryRankHasCome) {
  std::atomic<int> arrived{0};
  runGroup(4, [&](ProcessGroup& group) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      group.barrier()->wait();
      EXPECT_GE(arrived.load(), 4 * round);
      group.barrier()->wait();  // so that nobody counts for the next round too early
    }
  });
}

TEST_P(Order, SecondOperationPassesAFirstThatWaitsForAPeer) {
  // Rank 0's second call ends while its first still waits for rank 1; in gloo, on the other of
  // its two workers.
  std::promise<void> secondDone;
  runGroup(2, [&](ProcessGroup& group) {
    at::Tensor first = at::ones({1});
    at::Tensor second = at::ones({1});
    if (group.rank() == 0) {
      const auto waiting = group.recv(first, 1, 5);
      group.allreduce({second})->wait();
      EXPECT_FALSE(waiting->isCompleted());
      secondDone.set_value();
      waiting->wait();
    } else {
      group.allreduce({second})->wait();
      secondDone.get_future().wait();
      group.send(first, 0, 5)->wait();
    }
  });
}

TEST_P(Order, CompletesFuturesOnItsWorkersWithoutLocks) {
  runGroup(2, [](ProcessGroup& group) {
    std::promise<std::string> thread;
    const auto first = group.allreduce({at::ones({1})});
    // A callback may use the group: no lock is held while it runs.
    const auto chained = first->future().then([&](const std::vector<at::Tensor>& outputs) {
      thread.set_value(base::thisThreadName());
      return group.allreduce({outputs[0]});
    });
    ASSERT_TRUE(chained.waitFor(std::chrono::seconds(20)));
    chained.value()->wait();
    EXPECT_EQ(chained.value()->result()[0].item<float>(), 4);
    const std::string name = thread.get_future().get();
    const bool ofBackend =
        name.starts_with("gloo ") || name.starts_with("shm ") || name.starts_with("mpi ");
    EXPECT_TRUE(ofBackend || name.starts_with("rank ")) << name;
  });
}

TEST_P(Order, CallbacksMayWaitForABarrier) {
  runGroup(2, [](ProcessGroup& group) {
    const auto chained =
        group.allreduce({at::ones({1})})->future().then([&](const std::vector<at::Tensor>&) {
          group.barrier()->wait();
          return 1;
        });
    ASSERT_TRUE(chained.waitFor(std::chrono::seconds(20)));
    EXPECT_EQ(chained.value(), 1);
  });
}

TEST_P(Order, CallbacksMayWaitWithALimitOfTheirOwn) {
  runGroup(2, [](ProcessGroup& group) {
    for (const std::int64_t elements : {1, 1'000'000}) {
      const auto chained =
          group.allreduce({at::ones({1})})->future().then([&](const std::vector<at::Tensor>&) {
            const at::Tensor tensor = at::ones({elements});
            group.allreduce({tensor})->wait(std::chrono::seconds(15));
            return tensor[0].item<float>();
          });
      ASSERT_TRUE(chained.waitFor(std::chrono::seconds(20)));
      EXPECT_EQ(chained.value(), 2);
    }
  });
}

// One thread asks whether a small operation is done, and may do it, while another one calls a large
// operation.
TEST_P(Order, WhatIsCalledWhileAnotherThreadLooksIsDoneWithoutAWaiter) {
  runGroup(2, [](ProcessGroup& group) {
    for (int round = 0; round < 500; ++round) {
      const auto small = group.allreduce({at::ones({8'000})});
      std::thread looks([&] {
        while (!small->isCompleted()) {
        }
      });
      const std::int64_t later = base::monotonicNs() + round % 100 * 1'000;
      while (base::monotonicNs() < later) {
      }
      const auto large = group.allreduce({at::ones({50'000})})->future();
      const bool done = large.waitFor(std::chrono::seconds(10));
      looks.join();
      ASSERT_TRUE(done) << "round " << round;
    }
  });
}

TEST_P(Order, CallsFromManyThreadsAllGetNumbers) {
  runGroup(1, [](ProcessGroup& group) {
    std::mutex mutex;
    std::set<std::uint64_t> numbers;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 100; ++j) {
          const auto work = group.allreduce({at::ones({1})});
          work->wait();
          std::lock_guard lock(mutex);
          numbers.insert(work->sequence());
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(numbers.size(), 800u);
    EXPECT_EQ(*numbers.rbegin(), 800u);
  });
}

}  // namespace
}  // namespace lockstep::process_group
