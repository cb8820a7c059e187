#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/Join.h"
#include "engine/ddp/ZeroRedundancyOptimizer.h"
#include "engine/hooks/MakeHook.h"
#include "tests/engine/ddp/FunctionHook.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

// Join against training in one process: the same weights in the end.

namespace lockstep::ddp {
namespace {

using test::kWideSizes;
using test::Net;
using test::rows;
using test::severalBuckets;

/// Sums, then divides by the group's size itself.
std::shared_ptr<hooks::CommHook> sumThenDivide(std::shared_ptr<process_group::ProcessGroup> group) {
  return std::make_shared<test::FunctionHook>([group](hooks::GradBucket& bucket) {
    return group->allreduce({bucket.buffer()}, process_group::ReduceOp::kSum, {})
        ->future()
        .then([size = group->size()](const std::vector<at::Tensor>& tensors) {
          return tensors.front() / size;
        });
  });
}

experiment::OptimizerConfig optimizerConfig() {
  experiment::OptimizerConfig config;
  config.kind = "adam";
  config.learningRate = 0.02;
  return config;
}

void stepAll(optim::ParameterOptimizer& optimizer) {
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i) {
    optimizer.step(i, optimizer.parameters()[i].grad());
  }
}

/// The weights of one process that trains on what the ranks have in each step. Gradients of
/// `accumulate` steps go into one update.
std::vector<at::Tensor> trainedAlone(const std::vector<int>& inputs, bool byInitialSize,
                                     int accumulate = 1) {
  Net net(kWideSizes);
  auto optimizer = optim::ParameterOptimizer::make(optimizerConfig(), net.parameters()).value();
  const int longest = *std::max_element(inputs.begin(), inputs.end());
  for (int step = 0; step < longest; ++step) {
    if (step % accumulate == 0) {
      test::clearGradients(net);
    }
    at::Tensor loss = at::zeros({});
    int live = 0;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      if (step < inputs[rank]) {
        loss = loss + net.forward(rows(step, static_cast<int>(rank))).square().mean();
        ++live;
      }
    }
    (loss / (byInitialSize ? static_cast<int>(inputs.size()) : live)).backward();
    if ((step + 1) % accumulate == 0) {
      stepAll(*optimizer);
    }
  }
  return test::weights(net);
}

enum class Hook { kNone, kAllreduce, kOwnDivision };

struct Setting {
  Hook hook;
  bool byInitialSize;
};

struct Unevenly : testing::TestWithParam<std::tuple<std::vector<int>, Setting, bool>> {};

TEST_P(Unevenly, TrainedRanksEqualOneProcess) {
  const auto& [inputs, setting, view] = GetParam();
  const auto [hook, byInitialSize] = setting;
  const auto expected = trainedAlone(inputs, byInitialSize);
  test::runRanksWell(static_cast<int>(inputs.size()), [&, inputs = inputs,
                                                       byInitialSize = byInitialSize, hook = hook,
                                                       view = view](auto group) {
    auto net = std::make_shared<Net>(kWideSizes);
    auto options = severalBuckets(view);
    if (hook == Hook::kAllreduce) {
      options.hook = hooks::makeHook("allreduce", {group, nullptr}).value();
    } else if (hook == Hook::kOwnDivision) {
      options.hook = sumThenDivide(group);
    }
    DistributedDataParallel ddp(net, group, options);
    auto optimizer = optim::ParameterOptimizer::make(optimizerConfig(), net->parameters()).value();
    JoinOptions joinOptions;
    joinOptions.divideByInitialWorldSize = byInitialSize;
    Join join({&ddp}, joinOptions);
    std::uint32_t step = 0;
    join.run(step, [&] {
      const auto own = static_cast<std::uint32_t>(inputs[static_cast<std::size_t>(group->rank())]);
      for (; step < own; ++step) {
        ddp.setStep(step);
        test::clearGradients(*net);
        ddp.template forward<Net>(rows(static_cast<int>(step), group->rank()))
            .square()
            .mean()
            .backward();
        ddp.checkFinalized();
        stepAll(*optimizer);
      }
    });
    const auto own = test::weights(*net);
    for (std::size_t i = 0; i < own.size(); ++i) {
      EXPECT_TRUE(at::allclose(own[i], expected[i], 1e-6, 1e-6)) << "parameter " << i;
    }
  });
}

// A hook that divides by itself knows of no divisor but its own.
INSTANTIATE_TEST_SUITE_P(
    UnevenTraining, Unevenly,
    testing::Combine(testing::Values(std::vector<int>{3, 6}, std::vector<int>{6, 3},
                                     std::vector<int>{5, 0}, std::vector<int>{0, 4, 2}),
                     testing::Values(Setting{Hook::kNone, true}, Setting{Hook::kNone, false},
                                     Setting{Hook::kAllreduce, true},
                                     Setting{Hook::kAllreduce, false},
                                     Setting{Hook::kOwnDivision, true}),
                     testing::Bool()));

TEST(UnevenTraining, ShadowsIterationsThatOnlyAccumulate) {
  const std::vector<int> inputs{2, 6};
  const auto expected = trainedAlone(inputs, true, 2);
  test::runRanksWell(2, [&](auto group) {
    auto net = std::make_shared<Net>(kWideSizes);
    DistributedDataParallel ddp(net, group, severalBuckets());
    auto optimizer = optim::ParameterOptimizer::make(optimizerConfig(), net->parameters()).value();
    Join join({&ddp});
    std::uint32_t step = 0;
    const auto backward = [&] {
      ddp.template forward<Net>(rows(static_cast<int>(step), group->rank()))
          .square()
          .mean()
          .backward();
    };
    join.run(step, [&] {
      for (; step < static_cast<std::uint32_t>(inputs[static_cast<std::size_t>(group->rank())]);
           ++step) {
        if (step % 2 == 0) {
          test::clearGradients(*net);
          const DistributedDataParallel::NoSync local(ddp);
          backward();
        } else {
          backward();
          stepAll(*optimizer);
        }
      }
    });
    EXPECT_EQ(join.shadowed(), group->rank() == 0 ? 4u : 0u);
    EXPECT_TRUE(test::close(test::weights(*net), expected));
  });
}

TEST(UnevenTraining, TrainsWithAShardedOptimizerWhoseOwnersEndEarly) {
  const std::vector<int> inputs{1, 2, 5};
  const auto expected = trainedAlone(inputs, true);
  test::runRanksWell(3, [&](auto group) {
    auto net = std::make_shared<Net>(kWideSizes);
    DistributedDataParallel ddp(net, group, severalBuckets());
    ZeroRedundancyOptimizer zero(ddp.parameters(), group, optimizerConfig());
    Join join({&ddp, &zero});
    std::uint32_t step = 0;
    join.run(step, [&] {
      for (; step < static_cast<std::uint32_t>(inputs[static_cast<std::size_t>(group->rank())]);
           ++step) {
        zero.zeroGrad();
        ddp.template forward<Net>(rows(static_cast<int>(step), group->rank()))
            .square()
            .mean()
            .backward();
        zero.step();
      }
    });
    EXPECT_TRUE(test::close(test::weights(*net), expected));
  });
}

}  // namespace
}  // namespace lockstep::ddp
