#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::apart;
using test::HookRank;
using test::libraryHook;
using test::runHooks;
using testing::Each;

constexpr std::int64_t kDelayedCount = 400;

TEST(Delayed, AppliesTheMeanOfTheLastStepAndNothingInTheFirst) {
  const auto errors = runHooks(3, libraryHook("delayed"), [](HookRank& rank) {
    for (std::uint32_t step = 0; step < 6; ++step) {
      const at::Tensor applied =
          rank.average(test::gradients(kDelayedCount, rank.rank, step), step);
      const at::Tensor expected =
          step == 0 ? at::zeros({kDelayedCount}) : test::meanGradients(kDelayedCount, 3, step - 1);
      EXPECT_TRUE(at::allclose(applied, expected, 1e-5, 1e-6));
    }
    rank.hook->endOfRun(6);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Delayed, KeepsManyBucketsApart) {
  const auto errors = runHooks(2, libraryHook("delayed"), [](HookRank& rank) {
    constexpr std::uint32_t kBuckets = 5;
    for (std::uint32_t step = 0; step < 6; ++step) {
      std::vector<base::Future<at::Tensor>> futures;
      for (std::uint32_t i = 0; i < kBuckets; ++i) {
        futures.push_back(rank.start(
            test::gradients(kDelayedCount + i, rank.rank, step * kBuckets + i), step, i, kBuckets));
      }
      for (std::uint32_t i = 0; i < kBuckets; ++i) {
        ASSERT_TRUE(futures[i].waitFor(std::chrono::seconds(10)));
        if (step > 0) {
          EXPECT_TRUE(at::allclose(
              futures[i].value(),
              test::meanGradients(kDelayedCount + i, 2, (step - 1) * kBuckets + i), 1e-5, 1e-6));
        }
      }
    }
    rank.hook->endOfRun(6);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Delayed, GoesOnBeforeTheOtherRanksHaveTheirGradients) {
  std::promise<void> first;
  std::shared_future<void> firstIsThrough = first.get_future().share();
  const auto errors = runHooks(2, libraryHook("delayed"), [&](HookRank& rank) {
    if (rank.rank == 1) {
      ASSERT_EQ(firstIsThrough.wait_for(std::chrono::seconds(10)), std::future_status::ready)
          << "rank 0 waits for this one";
    }
    rank.average(test::gradients(kDelayedCount, rank.rank));
    if (rank.rank == 0) {
      first.set_value();
    }
    rank.hook->endOfRun(1);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Delayed, WithoutADelayIsAllreduceBitForBit) {
  at::Tensor expected;
  const auto average = [](HookRank& rank) {
    return rank.average(test::gradients(kDelayedCount, rank.rank)).clone();
  };
  ASSERT_THAT(runHooks(3, libraryHook("allreduce"),
                       [&](HookRank& rank) {
                         const at::Tensor mean = average(rank);
                         if (rank.rank == 0) {
                           expected = mean;
                         }
                       }),
              Each(""));
  EXPECT_THAT(runHooks(3, libraryHook("delayed", {{"delay", 0.0}}),
                       [&](HookRank& rank) { EXPECT_TRUE(at::equal(average(rank), expected)); }),
              Each(""));
}

/// How many times larger a parameter is after 600 steps on half its square.
double growth(double delay, double rate) {
  double grown = 0;
  const auto errors = runHooks(1, libraryHook("delayed", {{"delay", delay}}), [&](HookRank& rank) {
    const at::Tensor parameter = at::ones({1});
    rank.train(parameter, 0, 600, rate, [](const at::Tensor& now, std::uint32_t) { return now; });
    rank.hook->endOfRun(600);
    grown = parameter.abs().item<double>();
  });
  EXPECT_THAT(errors, Each(""));
  return grown;
}

TEST(Delayed, IsStableUpToHalfTheLearningRate) {
  EXPECT_LT(growth(1, 0.99), 0.2);
  EXPECT_GT(growth(1, 1.01), 5);
  EXPECT_LT(growth(0, 1.9), 0.2);
}

}  // namespace
}  // namespace lockstep::hooks
