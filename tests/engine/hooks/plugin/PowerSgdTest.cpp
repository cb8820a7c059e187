// What CompressionTest says of powersgd goes for the batched variant, too; and where PyTorch's
// arithmetic has no answer.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <mutex>

#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::apart;
using test::HookRank;
using test::libraryHook;
using test::runHooks;
using test::Values;
using testing::Each;

constexpr std::int64_t kPowerSgdCount = 1200;  // a square of 35 by 35 with 25 zeros behind

plugin::HookChoice batched(double rank) {
  return libraryHook("powersgd", {{"rank", rank}, {"start", 2.0}, {"batched", 1.0}});
}

/// Numbers that have a rank of two as a square: those of the last row, which is not full, are zero.
at::Tensor rankTwoSquare(std::uint64_t seed) {
  const at::Tensor square =
      test::gradients(70, 0, seed).view({35, 2}).mm(test::gradients(70, 0, seed + 1).view({2, 35}));
  square[34].zero_();
  return square.view({-1}).slice(0, 0, kPowerSgdCount).clone();
}

TEST(BatchedPowerSgd, IsExactWhenTheMeanHasNoMoreThanItsRank) {
  const auto errors = runHooks(2, batched(2), [](HookRank& rank) {
    const at::Tensor mean = rankTwoSquare(1);
    const at::Tensor noise = test::gradients(kPowerSgdCount, 0, 9);
    const at::Tensor sent = rank.average(rank.rank == 0 ? mean + noise : mean - noise, 2);
    EXPECT_LT(apart(sent, mean), 1e-4);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(BatchedPowerSgd, DependsOnTheMeanAlone) {
  std::vector<at::Tensor> results;
  std::mutex mutex;
  const auto run = [&](int world, auto gradientOf) {
    const auto errors = runHooks(world, batched(1), [&](HookRank& rank) {
      const at::Tensor sent = rank.average(gradientOf(rank.rank), 2);
      std::lock_guard lock(mutex);
      results.push_back(sent.clone());
    });
    EXPECT_THAT(errors, Each(""));
  };
  run(2, [](int rank) { return test::gradients(kPowerSgdCount, rank); });
  run(2, [](int rank) { return test::gradients(kPowerSgdCount, 1 - rank); });
  run(1, [](int) { return test::meanGradients(kPowerSgdCount, 2); });
  ASSERT_EQ(results.size(), 5U);
  for (const at::Tensor& result : results) {
    EXPECT_LT(apart(result, results[0]), 1e-4);
  }
}

TEST(BatchedPowerSgd, AveragesExactlyBeforeItStarts) {
  const auto errors = runHooks(2, batched(1), [](HookRank& rank) {
    EXPECT_LT(
        apart(rank.average(test::gradients(kPowerSgdCount, rank.rank), 1), test::meanGradients(kPowerSgdCount, 2)),
        1e-6);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(BatchedPowerSgd, TakesBucketsSmallerThanItsRank) {
  const auto errors = runHooks(2, batched(4), [](HookRank& rank) {
    for (const std::int64_t count : {1, 2, 9}) {
      const at::Tensor sent = rank.average(test::gradients(count, rank.rank), 2);
      EXPECT_LT(apart(sent, test::meanGradients(count, 2)), 1e-5) << count;
    }
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(BatchedPowerSgd, ContinuesWhereItWasSaved) {
  const auto errors = runHooks(2, batched(2), [](HookRank& rank) {
    const auto steps = [&](std::uint32_t first) {
      at::Tensor sum = at::zeros({kPowerSgdCount});
      for (std::uint32_t step = first; step < first + 4; ++step) {
        sum += rank.average(test::gradients(kPowerSgdCount, rank.rank, step), step);
      }
      return sum;
    };
    (void)steps(2);
    const std::string saved = rank.hook->save();
    const at::Tensor expected = steps(6);
    rank.hook->load(saved, 2);
    EXPECT_TRUE(at::equal(steps(6), expected)) << "residuals behind the bucket's numbers included";
  });
  EXPECT_THAT(errors, Each(""));
}

// ---- Where there is no direction to send

class Directions : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] plugin::HookChoice hook(double rank) const {
    return libraryHook("powersgd", {{"rank", rank},
                                    {"start", 2.0},
                                    {"error_feedback", 0.0},
                                    {"batched", GetParam() ? 1.0 : 0.0}});
  }
  static void shape(HookRank& rank) {
    if (!GetParam()) {
      rank.shape = {30, 40};
    }
  }
};
INSTANTIATE_TEST_SUITE_P(PowerSgd, Directions, testing::Bool(),
                         [](const auto& info) { return info.param ? "OfABucket" : "OfAMatrix"; });

TEST_P(Directions, ThatAreMissingAreNotMadeOfRoundingErrors) {
  const auto errors = runHooks(2, hook(4), [](HookRank& rank) {
    shape(rank);
    const at::Tensor mean = GetParam() ? rankTwoSquare(1)
                                       : test::gradients(60, 0, 1)
                                             .view({30, 2})
                                             .mm(test::gradients(80, 0, 2).view({2, 40}))
                                             .flatten();
    for (std::uint32_t step = 2; step < 6; ++step) {
      EXPECT_LT(apart(rank.average(mean.clone(), step), mean), 1e-4) << step;
    }
  });
  EXPECT_THAT(errors, Each(""));
}

TEST_P(Directions, OfZerosStayZero) {
  const auto errors = runHooks(2, hook(2), [](HookRank& rank) {
    shape(rank);
    for (std::uint32_t step = 2; step < 5; ++step) {
      EXPECT_TRUE(at::equal(rank.average(at::zeros({kPowerSgdCount}), step), at::zeros({kPowerSgdCount})));
    }
  });
  EXPECT_THAT(errors, Each(""));
}

TEST_P(Directions, AreFoundAgainAfterAStepOfZeros) {
  const auto errors = runHooks(2, hook(2), [](HookRank& rank) {
    shape(rank);
    (void)rank.average(test::gradients(kPowerSgdCount, rank.rank), 2);
    (void)rank.average(at::zeros({kPowerSgdCount}), 3);
    const at::Tensor sent = rank.average(test::gradients(kPowerSgdCount, rank.rank), 4);
    EXPECT_GT(sent.norm().item<double>(),
              0.01 * test::meanGradients(kPowerSgdCount, 2).norm().item<double>());
  });
  EXPECT_THAT(errors, Each(""));
}

TEST_P(Directions, OfNanAndInfinityAreSeenOnAllRanks) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto errors = runHooks(2, hook(1), [value](HookRank& rank) {
      shape(rank);
      at::Tensor gradient = test::gradients(kPowerSgdCount, rank.rank);
      if (rank.rank == 1) {
        gradient[45].fill_(value);
      }
      EXPECT_FALSE(at::isfinite(rank.average(gradient, 2)).all().item<bool>()) << value;
    });
    EXPECT_THAT(errors, Each(""));
  }
}

}  // namespace
}  // namespace lockstep::hooks
