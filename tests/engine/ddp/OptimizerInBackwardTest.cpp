#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/hooks/AllreduceHook.h"
#include "engine/hooks/ThenOptimizerHook.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using test::kWideSizes;
using test::Net;
using test::optimizerConfig;
using test::severalBuckets;

constexpr int kSteps = 6;

void zeroGradients(torch::nn::Module& net) {
  for (auto& parameter : net.parameters()) {
    if (parameter.grad().defined()) {
      parameter.mutable_grad().zero_();
    }
  }
}

/// Trains on each rank's own rows, `accumulate` backwards a step, and returns the weights. The
/// optimizer runs in the backward, or after it.
std::vector<at::Tensor> train(std::shared_ptr<process_group::ProcessGroup> group,
                              const std::string& kind, bool view, int accumulate, bool inBackward) {
  auto net = std::make_shared<Net>(kWideSizes);
  std::shared_ptr<optim::ParameterOptimizer> optimizer =
      optim::ParameterOptimizer::make(optimizerConfig(kind), net->parameters()).value();
  auto options = severalBuckets(view);
  if (inBackward) {
    options.hook = std::make_shared<hooks::ThenOptimizerHook>(
        std::make_shared<hooks::AllreduceHook>(group, nullptr), optimizer, nullptr);
  }
  DistributedDataParallel ddp(net, group, options);
  for (int step = 0; step < kSteps; ++step) {
    zeroGradients(*net);
    for (int part = 0; part < accumulate; ++part) {
      const at::Tensor rows = test::numbers(
          {3, 8}, static_cast<std::uint64_t>(1000 * step + 10 * part + group->rank()));
      const auto backward = [&] { ddp.forward<Net>(rows).square().mean().backward(); };
      if (part + 1 < accumulate) {
        const DistributedDataParallel::NoSync local(ddp);
        backward();
      } else {
        backward();
      }
    }
    ddp.checkFinalized();
    if (!inBackward) {
      const auto parameters = net->parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        optimizer->step(i, parameters[i].grad());
      }
    }
  }
  EXPECT_GE(ddp.plan().buckets.size(), 3u);
  return test::weights(*net);
}

struct OptimizerInBackward : testing::TestWithParam<std::tuple<std::string, bool, int>> {};

TEST_P(OptimizerInBackward, GivesTheWeightsOfAnOptimizerAfterTheBackward) {
  const auto [kind, view, accumulate] = GetParam();
  test::runRanksWell(2, [&, kind = kind, view = view, accumulate = accumulate](auto group) {
    const auto after = train(group, kind, view, accumulate, false);
    const auto within = train(group, kind, view, accumulate, true);
    EXPECT_TRUE(test::equal(within, after));
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, OptimizerInBackward,
                         testing::Combine(testing::Values("sgd", "adam", "adamw"), testing::Bool(),
                                          testing::Values(1, 3)));

}  // namespace
}  // namespace lockstep::ddp
