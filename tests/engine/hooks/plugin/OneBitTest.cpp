#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>

#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::apart;
using test::HookRank;
using test::libraryHook;
using test::RankValues;
using test::runHooks;
using testing::Each;
using testing::HasSubstr;

constexpr std::int64_t kOneBitCount = 1203;

OptimizerFacts adam(const std::string& kind = "adam") {
  OptimizerFacts facts;
  facts.kind = kind;
  facts.learningRate = 0.01;
  facts.beta1 = 0.9;
  facts.beta2 = 0.99;
  facts.epsilon = 1e-8;
  return facts;
}

template <typename Optimizer, typename Options>
void followsTorch(const std::string& kind) {
  const auto errors = runHooks(2, libraryHook("onebit", {{"warmup", 1e9}}), [&](HookRank& rank) {
    OptimizerFacts facts = adam(kind);
    facts.weightDecay = 0.1;
    rank.hook->configure(facts);
    EXPECT_TRUE(rank.hook->ownsUpdate());
    const at::Tensor parameter = at::ones({kOneBitCount});
    rank.train(parameter, 0, 20, 0, [&](const at::Tensor&, std::uint32_t step) {
      return test::gradients(kOneBitCount, rank.rank, step);
    });
    const at::Tensor expected = at::ones({kOneBitCount});
    Optimizer optimizer({expected}, Options(0.01).betas({0.9, 0.99}).weight_decay(0.1));
    for (std::uint32_t step = 0; step < 20; ++step) {
      expected.mutable_grad() = test::meanGradients(kOneBitCount, 2, step);
      optimizer.step();
    }
    EXPECT_LT(apart(parameter, expected), 1e-5);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(OneBit, IsAdamWhileItWarmsUp) {
  followsTorch<torch::optim::Adam, torch::optim::AdamOptions>("adam");
}

TEST(OneBit, IsAdamWWhileItWarmsUp) {
  followsTorch<torch::optim::AdamW, torch::optim::AdamWOptions>("adamw");
}

TEST(OneBit, LosesNothingOfTheMomentumToItsTwoRoundings) {
  constexpr int kWorld = 3;
  std::mutex mutex;
  at::Tensor kept = at::zeros({kOneBitCount});
  RankValues momenta;  // the averaged ones, by step
  RankValues parameters;
  const auto errors =
      runHooks(kWorld, libraryHook("onebit", {{"warmup", 3.0}}), [&](HookRank& rank) {
        rank.hook->configure(adam());
        const at::Tensor parameter = at::ones({kOneBitCount});
        rank.train(
            parameter, 0, 23, 0,
            [&](const at::Tensor&, std::uint32_t step) {
              return test::gradients(kOneBitCount, rank.rank, step);
            },
            [&](std::uint32_t step) {
              momenta.add(step, test::stateOf(rank).at(2));
              parameters.add(step, parameter);
            });
        const auto state = test::stateOf(rank);
        std::lock_guard lock(mutex);
        kept += state.at(0) / kWorld;
        if (state.at(1).numel() != 0) {
          kept += state.at(1);
        }
      });
  ASSERT_THAT(errors, Each(""));
  at::Tensor sent = at::zeros({kOneBitCount});
  at::Tensor given = at::zeros({kOneBitCount});
  for (std::uint32_t step = 3; step < 23; ++step) {
    EXPECT_TRUE(momenta.allEqual(step));
    EXPECT_TRUE(parameters.allEqual(step));
    sent += momenta.at(step)[0];
    given += 0.9 * momenta.at(step - 1)[0] + 0.1 * test::meanGradients(kOneBitCount, kWorld, step);
  }
  EXPECT_LT(apart(sent + kept, given), 1e-4);
  EXPECT_GT(apart(sent, given), 1e-2) << "nothing was compressed";
}

TEST(OneBit, FindsTheMinimum) {
  const auto errors = runHooks(2, libraryHook("onebit", {{"warmup", 20.0}}), [](HookRank& rank) {
    rank.hook->configure(adam());
    const at::Tensor parameter = at::zeros({kOneBitCount});
    const at::Tensor target = 1 + 0.2 * test::gradients(kOneBitCount, rank.rank);
    rank.train(parameter, 0, 600, 0,
               [&](const at::Tensor& now, std::uint32_t) { return now - target; });
    const at::Tensor mean = 1 + 0.2 * test::meanGradients(kOneBitCount, 2);
    EXPECT_LT((parameter - mean).square().mean().item<double>(), 0.001);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(OneBit, LeavesWhatNoGradientReaches) {
  const auto errors = runHooks(2, libraryHook("onebit", {{"warmup", 2.0}}), [](HookRank& rank) {
    rank.hook->configure(adam());
    const at::Tensor parameter = at::ones({kOneBitCount});
    rank.train(parameter, 0, 8, 0, [&](const at::Tensor&, std::uint32_t step) {
      at::Tensor gradient = test::gradients(kOneBitCount, rank.rank, step);
      gradient.slice(0, 0, 10).zero_();
      return gradient;
    });
    EXPECT_TRUE(at::equal(parameter.slice(0, 0, 10), at::ones({10})));
    EXPECT_FALSE(at::equal(parameter.slice(0, 10, 20), at::ones({10})));
  });
  EXPECT_THAT(errors, Each(""));
}

/// How far elements with a millionth of the others' gradients get in 30 compressed steps.
double smallOnesMove(double varianceFloor) {
  double moved = 0;
  const auto hook = libraryHook("onebit", {{"warmup", 5.0}, {"variance_floor", varianceFloor}});
  const auto errors = runHooks(1, hook, [&](HookRank& rank) {
    rank.hook->configure(adam());
    const at::Tensor parameter = at::zeros({kOneBitCount});
    rank.train(parameter, 0, 35, 0, [&](const at::Tensor&, std::uint32_t step) {
      at::Tensor gradient = test::gradients(kOneBitCount, rank.rank, step);
      gradient.slice(0, 0, 10).mul_(1e-6);
      return gradient;
    });
    moved = parameter.slice(0, 0, 10).abs().max().item<double>();
  });
  EXPECT_THAT(errors, Each(""));
  return moved;
}

TEST(OneBit, ThrowsSmallElementsFarWithoutAFloorUnderTheirVariance) {
  EXPECT_LT(smallOnesMove(0.01), 1);
  EXPECT_GT(smallOnesMove(0), 100);
}

TEST(OneBit, RefusesSgd) {
  const auto errors =
      runHooks(1, libraryHook("onebit"), [](HookRank& rank) { rank.hook->configure(adam("sgd")); });
  EXPECT_THAT(errors, Each(HasSubstr("choose the optimizer adam or adamw")));
}

}  // namespace
}  // namespace lockstep::hooks
