#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::apart;
using test::HookRank;
using test::libraryHook;
using test::runHooks;
using testing::Each;
using testing::HasSubstr;

std::int64_t sentCount(const at::Tensor& sent) {
  return at::count_nonzero(sent).item<std::int64_t>();
}

class Momenta : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Dgc, Momenta, testing::Bool());

TEST_P(Momenta, OfAllGradientsAreMomentumSgd) {
  const bool nesterov = GetParam();
  const auto hook =
      libraryHook("dgc", {{"density", 1.0}, {"masking", 0.0}, {"nesterov", nesterov ? 1.0 : 0.0}});
  const auto errors = runHooks(3, hook, [&](HookRank& rank) {
    at::Tensor momentum = at::zeros({500});
    for (std::uint32_t step = 0; step < 10; ++step) {
      const at::Tensor mean = test::meanGradients(500, 3, step);
      momentum = nesterov ? 0.9 * (momentum + mean) : 0.9 * momentum + mean;
      const at::Tensor expected = nesterov ? momentum + mean : momentum;
      EXPECT_LT(apart(rank.average(test::gradients(500, rank.rank, step), step), expected), 1e-5);
    }
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Dgc, ForgetsTheMomentumOfWhatItSends) {
  const auto errors = runHooks(2, libraryHook("dgc", {{"density", 1.0}}), [](HookRank& rank) {
    for (std::uint32_t step = 0; step < 5; ++step) {
      EXPECT_LT(apart(rank.average(test::gradients(500, rank.rank, step), step),
                      test::meanGradients(500, 2, step)),
                1e-5);
    }
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Dgc, SendsTheLargestAndAboutAsManyAsItsDensity) {
  const auto errors = runHooks(1, libraryHook("dgc", {{"density", 0.01}}), [](HookRank& rank) {
    for (const std::int64_t count : {1000, 100000}) {
      const at::Tensor sent = rank.average(test::gradients(count, 0), 0, count == 1000 ? 0 : 1, 2);
      EXPECT_LE(sentCount(sent), count / 100);
      EXPECT_GE(static_cast<double>(sentCount(sent)), 0.008 * static_cast<double>(count));
      const at::Tensor all = test::gradients(count, 0).abs();
      EXPECT_GE(sent.abs().masked_select(sent != 0).min().item<float>(),
                all.masked_select(sent == 0).max().item<float>());
    }
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Dgc, SendsTheLowestIndexAmongEqualsWhereNoThresholdParts) {
  const auto hook = libraryHook("dgc", {{"density", 0.25}, {"momentum", 0.0}});
  const auto errors = runHooks(1, hook, [](HookRank& rank) {
    std::vector<std::int64_t> order;
    at::Tensor next = at::tensor({1.0F, -3.0F, 3.0F, 2.0F});
    for (std::uint32_t step = 0; step < 4; ++step) {
      const at::Tensor sent = rank.average(next.clone(), step);
      EXPECT_EQ(sentCount(sent), 1);
      order.push_back(sent.abs().argmax().item<std::int64_t>());
      next = at::zeros({4});
    }
    EXPECT_THAT(order, testing::ElementsAre(1, 2, 3, 0));
    EXPECT_EQ(sentCount(rank.average(next, 4)), 0) << "nothing is left";
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Dgc, UpdatesNoMoreThanAllRanksSend) {
  const auto errors = runHooks(4, libraryHook("dgc", {{"density", 0.01}}), [](HookRank& rank) {
    EXPECT_LE(sentCount(rank.average(test::gradients(10000, rank.rank))), 4 * 100);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Dgc, FallsToItsDensityInFiveStages) {
  const auto hook = libraryHook("dgc", {{"density", 0.001}, {"warmup", 10.0}, {"momentum", 0.0}});
  const auto errors = runHooks(1, hook, [](HookRank& rank) {
    constexpr std::int64_t kCount = 100000;
    for (std::uint32_t step = 0; step < 12; ++step) {
      const double density = std::pow(0.001, std::min(step / 2 + 1, 5U) / 5.0);
      const auto sent =
          static_cast<double>(sentCount(rank.average(test::gradients(kCount, 0, step), step)));
      EXPECT_LE(sent, density * kCount + 1);
      EXPECT_GE(sent, 0.79 * density * kCount);
    }
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Dgc, ClipsEachRankAtItsPartOfTheNorm) {
  const auto hook = libraryHook("dgc", {{"density", 1.0}, {"momentum", 0.0}, {"clip", 1.0}});
  const auto errors = runHooks(4, hook, [](HookRank& rank) {
    at::Tensor expected = at::zeros({500});
    for (int i = 0; i < 4; ++i) {
      const at::Tensor gradient = test::gradients(500, i);
      expected += gradient / gradient.norm() / 2 / 4;
    }
    EXPECT_LT(apart(rank.average(test::gradients(500, rank.rank)), expected), 1e-5);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Dgc, RefusesAnOptimizerWithMomentumOfItsOwn) {
  const auto errors = runHooks(1, libraryHook("dgc"), [](HookRank& rank) {
    OptimizerFacts optimizer;
    optimizer.kind = "sgd";
    optimizer.learningRate = 0.1;
    rank.hook->configure(optimizer);
    optimizer.momentum = 0.9;
    rank.hook->configure(optimizer);
  });
  EXPECT_THAT(errors, Each(HasSubstr("choose the optimizer sgd with momentum 0")));
}

TEST(TopK, SendsNanSoThatAllRanksSeeIt) {
  for (const char* id : {"topk", "dgc"}) {
    const auto errors = runHooks(2, libraryHook(id, {{"density", 0.01}}), [](HookRank& rank) {
      at::Tensor gradient = test::gradients(1000, rank.rank);
      if (rank.rank == 1) {
        gradient[7].fill_(std::nan(""));
      }
      EXPECT_TRUE(std::isnan(rank.average(gradient)[7].item<float>()));
    });
    EXPECT_THAT(errors, Each(""));
  }
}

}  // namespace
}  // namespace lockstep::hooks
