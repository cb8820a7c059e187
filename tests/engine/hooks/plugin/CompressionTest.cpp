#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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

// ---- Error feedback: what is sent plus what is kept is all there was.

struct Feeding {
  const char* name;
  const char* id;
  Values values;
  std::vector<std::int64_t> shape;
  std::uint32_t firstStep;
};

class ErrorFeedback : public testing::TestWithParam<Feeding> {};

TEST_P(ErrorFeedback, LosesNothingOverTwentySteps) {
  const Feeding& feeding = GetParam();
  constexpr int kWorld = 3;
  constexpr std::int64_t kCount = 1200;
  std::mutex mutex;
  at::Tensor kept = at::zeros({kCount});
  at::Tensor sent;
  const auto errors =
      runHooks(kWorld, libraryHook(feeding.id, feeding.values), [&](HookRank& rank) {
        rank.shape = feeding.shape;
        at::Tensor updates = at::zeros({kCount});
        for (std::uint32_t step = 0; step < 20; ++step) {
          updates +=
              rank.average(test::gradients(kCount, rank.rank, step), feeding.firstStep + step);
        }
        std::lock_guard lock(mutex);
        kept += test::residualOf(rank) / kWorld;
        EXPECT_TRUE(!sent.defined() || at::equal(sent, updates)) << "all ranks get the same";
        sent = updates;
      });
  ASSERT_THAT(errors, Each(""));
  at::Tensor given = at::zeros({kCount});
  for (std::uint32_t step = 0; step < 20; ++step) {
    given += test::meanGradients(kCount, kWorld, step);
  }
  EXPECT_LT(apart(sent + kept, given), 1e-5);
  EXPECT_GT(apart(sent, given), 1e-2) << "nothing was compressed";
}

INSTANTIATE_TEST_SUITE_P(
    Hooks, ErrorFeedback,
    testing::Values(
        Feeding{"topk", "topk", {{"density", 0.05}}, {}, 0},
        Feeding{"dgc", "dgc", {{"density", 0.05}, {"momentum", 0.0}}, {}, 0},
        Feeding{"randomk", "randomk", {{"density", 0.05}}, {}, 0},
        Feeding{"ef_sign", "ef_sign", {}, {}, 0},
        Feeding{"powersgd", "powersgd", {{"rank", 2.0}, {"start", 2.0}}, {30, 40}, 2},
        // A square of 35 by 35 with zeros behind.
        Feeding{"powersgd_batched", "powersgd",
                {{"rank", 2.0}, {"start", 2.0}, {"batched", 1.0}}, {}, 2}),
    [](const auto& info) { return std::string(info.param.name); });

// ---- Hooks that are exact when they leave nothing out.

TEST(TopK, WithAllOfTheGradientsIsTheMean) {
  const auto errors = runHooks(3, libraryHook("topk", {{"density", 1.0}}), [](HookRank& rank) {
    const at::Tensor mean = rank.average(test::gradients(500, rank.rank));
    EXPECT_LT(apart(mean, test::meanGradients(500, 3)), 1e-6);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(TopK, SendsTheLargestFirstAndTheLowestIndexAmongEquals) {
  const auto errors = runHooks(1, libraryHook("topk", {{"density", 0.25}}), [](HookRank& rank) {
    std::vector<std::int64_t> order;
    at::Tensor next = at::tensor({1.0F, -3.0F, 3.0F, 2.0F});
    for (std::uint32_t step = 0; step < 4; ++step) {
      const at::Tensor sent = rank.average(next.clone(), step);
      order.push_back(sent.abs().argmax().item<std::int64_t>());
      EXPECT_EQ(at::count_nonzero(sent).item<std::int64_t>(), 1);
      next = at::zeros({4});
    }
    EXPECT_THAT(order, testing::ElementsAre(1, 2, 3, 0));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(RandomK, WithAllOfTheGradientsIsTheMean) {
  const auto errors = runHooks(2, libraryHook("randomk", {{"density", 1.0}}), [](HookRank& rank) {
    const at::Tensor mean = rank.average(test::gradients(500, rank.rank));
    EXPECT_LT(apart(mean, test::meanGradients(500, 2)), 1e-6);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(RandomK, WithoutFeedbackIsRightOnAverage) {
  const auto errors = runHooks(
      1, libraryHook("randomk", {{"density", 0.1}, {"error_feedback", 0.0}}), [](HookRank& rank) {
        const at::Tensor gradient = test::gradients(50, 0);
        at::Tensor sum = at::zeros({50});
        constexpr int kDraws = 4000;
        for (std::uint32_t step = 0; step < kDraws; ++step) {
          sum += rank.average(gradient.clone(), step);
        }
        // One draw of g has variance 9 g^2.
        const at::Tensor sigma = 3 * gradient.abs() / std::sqrt(double{kDraws});
        EXPECT_TRUE(((sum / kDraws - gradient).abs() <= 4.5 * sigma).all().item<bool>());
      });
  EXPECT_THAT(errors, Each(""));
}

// ---- PowerSGD

/// Gradients of a rank whose mean has rank 2.
at::Tensor rankTwo(int rank) {
  auto numbers = [](std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    return test::gradients(rows * columns, 0, seed).view({rows, columns});
  };
  const at::Tensor common = numbers(30, 2, 1).mm(numbers(2, 40, 2));
  const at::Tensor noise = numbers(30, 40, 3);
  return (common + (rank == 0 ? noise : -noise)).flatten();
}

TEST(PowerSgd, IsExactWhenTheMeanHasNoMoreThanItsRank) {
  const auto errors =
      runHooks(2, libraryHook("powersgd", {{"rank", 2.0}, {"start", 2.0}}), [](HookRank& rank) {
        rank.shape = {30, 40};
        const at::Tensor sent = rank.average(rankTwo(rank.rank), 2);
        EXPECT_LT(apart(sent, (rankTwo(0) + rankTwo(1)) / 2), 1e-4);
      });
  EXPECT_THAT(errors, Each(""));
}

TEST(PowerSgd, DependsOnTheMeanAlone) {
  std::vector<at::Tensor> results;
  std::mutex mutex;
  const auto run = [&](int world, auto gradientOf) {
    const auto errors =
        runHooks(world, libraryHook("powersgd", {{"start", 2.0}}), [&](HookRank& rank) {
          rank.shape = {30, 40};
          const at::Tensor sent = rank.average(gradientOf(rank.rank), 2);
          std::lock_guard lock(mutex);
          results.push_back(sent.clone());
        });
    EXPECT_THAT(errors, Each(""));
  };
  run(2, [](int rank) { return test::gradients(1200, rank); });
  run(2, [](int rank) { return test::gradients(1200, 1 - rank); });
  run(1, [](int) { return test::meanGradients(1200, 2); });
  ASSERT_EQ(results.size(), 5U);
  for (const at::Tensor& result : results) {
    EXPECT_LT(apart(result, results[0]), 1e-4);
  }
}

TEST(PowerSgd, AveragesExactlyBeforeItStartsAndWhatIsNoMatrix) {
  const auto errors = runHooks(2, libraryHook("powersgd", {{"start", 2.0}}), [](HookRank& rank) {
    rank.shape = {30, 40};
    EXPECT_LT(
        apart(rank.average(test::gradients(1200, rank.rank), 1), test::meanGradients(1200, 2)),
        1e-6);
    rank.shape = {1200};
    EXPECT_LT(
        apart(rank.average(test::gradients(1200, rank.rank), 2), test::meanGradients(1200, 2)),
        1e-6);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(PowerSgd, LeavesZerosZero) {
  const auto errors = runHooks(2, libraryHook("powersgd", {{"start", 2.0}}), [](HookRank& rank) {
    rank.shape = {30, 40};
    for (std::uint32_t step = 2; step < 5; ++step) {
      EXPECT_TRUE(at::equal(rank.average(at::zeros({1200}), step), at::zeros({1200})));
    }
  });
  EXPECT_THAT(errors, Each(""));
}

// ---- Quantisation

class Int8 : public testing::TestWithParam<std::tuple<const char*, const char*, int>> {};
INSTANTIATE_TEST_SUITE_P(Variants, Int8,
                         testing::Combine(testing::Values("tensor", "channel"),
                                          testing::Values("all_to_all", "allgather"),
                                          testing::Values(1, 2, 3)));

TEST_P(Int8, IsAsFarFromTheMeanAsItsStepsAreWide) {
  const auto [scales, exchange, world] = GetParam();
  const auto errors = runHooks(
      world,
      libraryHook("int8", {{"scales", std::string(scales)}, {"exchange", std::string(exchange)}}),
      [&, exchange = exchange](HookRank& rank) {
        constexpr std::int64_t kCount = 2000;
        const at::Tensor mean = rank.average(test::gradients(kCount, rank.rank));
        double step = 0;  // the widest of any rank's
        for (int i = 0; i < rank.world; ++i) {
          const at::Tensor own = test::gradients(kCount, i);
          step = std::max(step, (own.max() - own.min()).item<double>() / 255);
        }
        // Half a step a rounding; all_to_all rounds the mean, too, which is no wider.
        const double limit = (std::string(exchange) == "allgather" ? 0.5 : 1.0) * step * 1.001;
        const at::Tensor error = (mean - test::meanGradients(kCount, rank.world)).abs();
        EXPECT_LE(error.max().item<double>(), limit);
      });
  EXPECT_THAT(errors, Each(""));
}

TEST(Int8, KeepsConstants) {
  const auto errors = runHooks(2, libraryHook("int8"), [](HookRank& rank) {
    EXPECT_LT(apart(rank.average(at::full({64}, 3.5F)), at::full({64}, 3.5F)), 1e-6);
    EXPECT_TRUE(at::equal(rank.average(at::zeros({64}), 1), at::zeros({64})));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Qsgd, IsRightOnAverageAndExactForOneDirection) {
  const auto errors = runHooks(1, libraryHook("qsgd", {{"levels", 4.0}}), [](HookRank& rank) {
    at::Tensor single = at::zeros({100});
    single[7].fill_(-2.5F);
    EXPECT_TRUE(at::equal(rank.average(single.clone()), single));
    const at::Tensor gradient = test::gradients(100, 0);
    const double norm = gradient.norm().item<double>();
    at::Tensor sum = at::zeros({100});
    constexpr int kDraws = 4000;
    for (std::uint32_t step = 0; step < kDraws; ++step) {
      sum += rank.average(gradient.clone(), step);
    }
    // A draw has at most the variance of a coin between two levels.
    const double sigma = 0.5 * norm / 4 / std::sqrt(double{kDraws});
    EXPECT_LE((sum / kDraws - gradient).abs().max().item<double>(), 4.5 * sigma);
  });
  EXPECT_THAT(errors, Each(""));
}

class EightBits : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Hooks, EightBits, testing::Values("int8", "qsgd"));

TEST_P(EightBits, HideNeitherNanNorInfinity) {
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    const auto errors = runHooks(2, libraryHook(GetParam()), [odd](HookRank& rank) {
      at::Tensor own = test::gradients(2000, rank.rank);
      if (rank.rank == 1) {
        own[1234].fill_(odd);
      }
      EXPECT_FALSE(std::isfinite(rank.average(own)[1234].item<float>()));
    });
    EXPECT_THAT(errors, Each(""));
  }
}

TEST_P(EightBits, TakeNumbersTooSmallForTheirSteps) {
  const auto errors = runHooks(2, libraryHook(GetParam()), [](HookRank& rank) {
    const at::Tensor mean = rank.average(test::gradients(2000, rank.rank) * 1e-38);
    EXPECT_LE(mean.abs().max().item<double>(), 1e-37);
  });
  EXPECT_THAT(errors, Each(""));
}

// ---- Signs

TEST(Sign, OfOneRankIsItsOwn) {
  const auto errors = runHooks(1, libraryHook("sign", {{"magnitude", 0.5}}), [](HookRank& rank) {
    const at::Tensor gradient = test::gradients(1003, 0);
    EXPECT_TRUE(at::equal(rank.average(gradient.clone()), at::sign(gradient) * 0.5F));
  });
  EXPECT_THAT(errors, Each(""));
}

class Votes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Votes, testing::Values(2, 3, 4, 5, 7));

TEST_P(Votes, GoByWhatMostRanksSentAndTiesUpwards) {
  constexpr std::int64_t kCount = 1003;
  const auto errors = runHooks(GetParam(), libraryHook("sign"), [](HookRank& rank) {
    at::Tensor balance = at::zeros({kCount});
    for (int i = 0; i < rank.world; ++i) {
      balance += at::sign(test::gradients(kCount, i));
    }
    const at::Tensor votes = rank.average(test::gradients(kCount, rank.rank));
    EXPECT_TRUE(at::equal(votes, at::where(balance >= 0, at::ones({kCount}), -at::ones({kCount}))));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(EfSign, SendsTheMeanMagnitude) {
  const auto errors = runHooks(1, libraryHook("ef_sign"), [](HookRank& rank) {
    OptimizerFacts optimizer;
    optimizer.kind = "sgd";
    optimizer.learningRate = 0.5;
    rank.hook->configure(optimizer);
    const at::Tensor sent = rank.average(at::tensor({3.0F, -1.0F}));
    EXPECT_TRUE(at::allclose(sent, at::tensor({2.0F, -2.0F})));
    EXPECT_TRUE(at::allclose(test::residualOf(rank), at::tensor({0.5F, 0.5F})))
        << "in units of the update";
  });
  EXPECT_THAT(errors, Each(""));
}

}  // namespace
}  // namespace lockstep::hooks
