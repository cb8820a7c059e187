#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::apart;
using test::HookRank;
using test::libraryHook;
using test::runHooks;
using testing::Each;
using testing::HasSubstr;

constexpr std::int64_t kZeroCount = 1003;
constexpr std::uint32_t kSteps = 12;

OptimizerFacts sgd(double momentum = 0, double weightDecay = 0, double dampening = 0,
                   bool nesterov = false) {
  OptimizerFacts facts;
  facts.kind = "sgd";
  facts.learningRate = 0.05;
  facts.momentum = momentum;
  facts.weightDecay = weightDecay;
  facts.dampening = dampening;
  facts.nesterov = nesterov;
  return facts;
}

OptimizerFacts adamOf(const std::string& kind) {
  OptimizerFacts facts;
  facts.kind = kind;
  facts.learningRate = 0.01;
  facts.weightDecay = 0.1;
  facts.beta1 = 0.9;
  facts.beta2 = 0.99;
  facts.epsilon = 1e-8;
  return facts;
}

std::unique_ptr<torch::optim::Optimizer> torchOptimizer(const OptimizerFacts& facts,
                                                        const at::Tensor& parameter) {
  const std::vector<at::Tensor> parameters{parameter};
  if (facts.kind == "sgd") {
    return std::make_unique<torch::optim::SGD>(parameters,
                                               torch::optim::SGDOptions(facts.learningRate)
                                                   .momentum(facts.momentum)
                                                   .weight_decay(facts.weightDecay)
                                                   .dampening(facts.dampening)
                                                   .nesterov(facts.nesterov));
  }
  if (facts.kind == "adam") {
    return std::make_unique<torch::optim::Adam>(parameters,
                                                torch::optim::AdamOptions(facts.learningRate)
                                                    .betas({facts.beta1, facts.beta2})
                                                    .weight_decay(facts.weightDecay));
  }
  return std::make_unique<torch::optim::AdamW>(parameters,
                                               torch::optim::AdamWOptions(facts.learningRate)
                                                   .betas({facts.beta1, facts.beta2})
                                                   .weight_decay(facts.weightDecay));
}

/// DDP's mean, as the hook allreduce divides and sums it, and torch::optim's steps.
at::Tensor expectedAfter(const OptimizerFacts& facts, int world) {
  const at::Tensor parameter = at::ones({kZeroCount});
  const auto optimizer = torchOptimizer(facts, parameter);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    at::Tensor mean = at::zeros({kZeroCount});
    for (int rank = 0; rank < world; ++rank) {
      mean += test::gradients(kZeroCount, rank, step) / world;
    }
    parameter.mutable_grad() = mean;
    optimizer->step();
  }
  return parameter;
}

void steps(int world, const OptimizerFacts& facts,
           const std::function<void(const HookRank&, const at::Tensor&)>& check) {
  const auto errors = runHooks(world, libraryHook("zero_rs"), [&](HookRank& rank) {
    rank.hook->configure(facts);
    EXPECT_TRUE(rank.hook->ownsUpdate());
    const at::Tensor parameter = at::ones({kZeroCount});
    rank.train(parameter, 0, kSteps, 0, [&](const at::Tensor&, std::uint32_t step) {
      return test::gradients(kZeroCount, rank.rank, step);
    });
    check(rank, parameter);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(ZeroRs, IsDdpBitForBitOnTwoRanks) {
  for (const auto& facts : {sgd(), sgd(0.9), sgd(0.9, 0.01), sgd(0.9, 0.01, 0.5),
                            sgd(0.9, 0.01, 0, true), adamOf("adam"), adamOf("adamw")}) {
    const at::Tensor expected = expectedAfter(facts, 2);
    steps(2, facts, [&](const HookRank&, const at::Tensor& parameter) {
      EXPECT_TRUE(at::equal(parameter, expected)) << facts.kind << ", momentum " << facts.momentum
                                                  << ", weight decay " << facts.weightDecay;
    });
  }
}

TEST(ZeroRs, IsDdpOnThreeRanksUpToTheOrderOfSums) {
  const at::Tensor expected = expectedAfter(adamOf("adam"), 3);
  steps(3, adamOf("adam"), [&](const HookRank&, const at::Tensor& parameter) {
    EXPECT_LT(apart(parameter, expected), 1e-5);
  });
}

TEST(ZeroRs, KeepsItsShareOfTheStateAlone) {
  for (const int world : {1, 4}) {
    steps(world, adamOf("adam"), [&](const HookRank& rank, const at::Tensor&) {
      const double moments = 2.0 * kZeroCount * sizeof(float) / world;
      EXPECT_NEAR(static_cast<double>(rank.hook->save().size()), moments, 200);
    });
  }
}

TEST(ZeroRs, HasSteppedTheParametersOfABucketWhenTheBucketIsDone) {
  const auto errors = runHooks(2, libraryHook("zero_rs"), [](HookRank& rank) {
    rank.hook->configure(sgd());
    const at::Tensor parameter = at::ones({8});
    rank.hook->setParameters({"weight"}, {parameter});
    rank.hook->beforeForward(0);
    const at::Tensor mean = rank.average(at::ones({8}));
    EXPECT_TRUE(at::allclose(parameter, at::full({8}, 0.95F)));
    EXPECT_EQ(mean.sum().item<float>(), 4) << "a rank knows the mean of its half";
    rank.hook->update(0);
    EXPECT_TRUE(at::allclose(parameter, at::full({8}, 0.95F)));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(ZeroRs, RefusesToStepWhatItWasNotShown) {
  const auto errors = runHooks(1, libraryHook("zero_rs"), [](HookRank& rank) {
    rank.hook->configure(sgd());
    rank.average(at::ones({8}));
  });
  EXPECT_THAT(errors, Each(HasSubstr("before_forward did not show it parameter 0 of 8 elements")));
}

}  // namespace
}  // namespace lockstep::hooks
