#include "engine/ddp/ZeroRedundancyOptimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "tests/engine/ddp/GlooRanks.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using test::kWideSizes;
using test::Net;
using test::numbers;
using test::optimizerConfig;
using test::rows;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<NamedTensor> named(const torch::nn::Module& module) {
  std::vector<NamedTensor> list;
  for (const auto& item : module.named_parameters()) {
    list.push_back({item.key(), item.value()});
  }
  return list;
}

TEST(ZeroPartition, IsPyTorchsForTheMlp) {
  // weight and bias of 1024-2048-2048-2048-10; owners printed by torch 1.13's
  // ZeroRedundancyOptimizer._partition_parameters
  const std::vector<std::int64_t> mlp{1024 * 2048, 2048, 2048 * 2048, 2048,
                                      2048 * 2048, 2048, 2048 * 10,   10};
  EXPECT_THAT(partitionParameters(mlp, 2), ElementsAre(0, 1, 0, 1, 1, 1, 1, 1));
  EXPECT_THAT(partitionParameters(mlp, 3), ElementsAre(2, 2, 0, 2, 1, 2, 2, 2));
  EXPECT_THAT(partitionParameters(mlp, 4), ElementsAre(2, 3, 0, 3, 1, 3, 3, 3));
}

TEST(ZeroPartition, LeavesRanksWithoutParametersWhenThereAreFew) {
  EXPECT_THAT(partitionParameters({5, 7}, 3), ElementsAre(1, 0));
}

struct Zero : testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(Zero, TrainsAsOneProcessWithTheWholeBatch) {
  const auto [kind, world] = GetParam();
  constexpr int kSteps = 6;
  Net alone(kWideSizes);
  auto whole = optim::ParameterOptimizer::make(optimizerConfig(kind), alone.parameters()).value();
  for (int step = 0; step < kSteps; ++step) {
    std::vector<at::Tensor> all;
    for (int rank = 0; rank < world; ++rank) {
      all.push_back(rows(step, rank));
    }
    alone.zero_grad();
    alone.forward(at::cat(all)).square().mean().backward();
    for (std::size_t i = 0; i < alone.parameters().size(); ++i) {
      whole->step(i, alone.parameters()[i].grad());
    }
  }
  test::runRanksWell(world, [&, kind = kind](auto group) {
    auto net = std::make_shared<Net>(kWideSizes, static_cast<std::uint64_t>(group->rank() + 1));
    DistributedDataParallel ddp(net, group);
    ZeroRedundancyOptimizer optimizer(ddp.parameters(), group, optimizerConfig(kind));
    for (int step = 0; step < kSteps; ++step) {
      optimizer.zeroGrad();
      ddp.template forward<Net>(rows(step, group->rank())).square().mean().backward();
      optimizer.step();
    }
    const double difference = test::largestDifference(test::weights(*net), test::weights(alone));
    EXPECT_LE(difference, 1e-5);
    if (group->rank() == 0) {
      test::figure("difference", difference);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Zero,
                         testing::Combine(testing::Values("sgd", "adam", "adamw"),
                                          testing::Values(1, 2, 3)));

TEST(ZeroMemory, OfDeepLinearIsSharedEvenly) {
  constexpr int kLayers = 48;  // Linear(512, 512)
  for (const int world : {2, 3, 4}) {
    std::vector<double> shares(static_cast<std::size_t>(world));
    test::runRanksWell(world, [&](auto group) {
      std::vector<NamedTensor> parameters;
      std::int64_t total = 0;
      for (int i = 0; i < 2 * kLayers; ++i) {
        const bool weight = i % 2 == 0;
        const at::Tensor parameter = weight ? at::zeros({512, 512}) : at::zeros({512});
        parameter.mutable_grad() = at::ones_like(parameter);
        total += 2 * static_cast<std::int64_t>(parameter.nbytes()) + 8;
        parameters.push_back({std::to_string(i / 2) + (weight ? ".weight" : ".bias"), parameter});
      }
      ZeroRedundancyOptimizer optimizer(parameters, group, optimizerConfig("adam"));
      optimizer.step();
      const at::Tensor sum = at::full({1}, static_cast<std::int64_t>(optimizer.stateBytes()));
      group->allreduce({sum}, process_group::ReduceOp::kSum, {})->wait();
      EXPECT_EQ(sum.template item<std::int64_t>(), total);
      shares[static_cast<std::size_t>(group->rank())] =
          static_cast<double>(optimizer.stateBytes()) / static_cast<double>(total);
    });
    const double largest = *std::max_element(shares.begin(), shares.end());
    EXPECT_LE(largest, 1.0 / world + 0.05);
    test::figure("largest_share_of_" + std::to_string(world), largest);
  }
}

TEST(ZeroOptimizer, LeavesParametersWithoutAGradient) {
  test::runRanksWell(2, [](auto group) {
    Net net(kWideSizes);
    const auto before = test::weights(net);
    ZeroRedundancyOptimizer optimizer(named(net), group, optimizerConfig("adam"));
    net.parameters()[2].mutable_grad() = at::ones_like(net.parameters()[2]);
    optimizer.step();
    const auto after = test::weights(net);
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(at::equal(after[i], before[i]), i != 2) << "parameter " << i;
    }
  });
}

TEST(ZeroOptimizer, NamesWhatItCannotTake) {
  const auto refusal =
      [](std::function<void(std::vector<NamedTensor>&, experiment::OptimizerConfig&, int rank)>
             spoil) {
        return test::runRanks(2, [&](auto group) {
          Net net(kWideSizes);
          auto parameters = named(net);
          auto optimizer = optimizerConfig("sgd");
          spoil(parameters, optimizer, group->rank());
          ZeroRedundancyOptimizer zero(parameters, group, optimizer);
        });
      };
  EXPECT_THAT(refusal([](auto& parameters, auto&, int) {
                parameters[3].tensor = parameters[3].tensor.detach().to(at::kDouble);
              }),
              testing::Each(HasSubstr("'fc1.bias' (3) is float64 on cpu")));
  EXPECT_THAT(refusal([](auto&, auto& optimizer, int rank) {
                optimizer.learningRate = rank == 0 ? 0.1 : 0.2;
              }),
              testing::Each(HasSubstr("learning rate 0.2")));
  EXPECT_THAT(refusal([](auto& parameters, auto&, int) { parameters.clear(); }),
              testing::Each(HasSubstr("no parameters")));
  EXPECT_THAT(refusal([](auto&, auto& optimizer, int) { optimizer.kind = "lion"; }),
              testing::Each(HasSubstr("'lion'")));
}

#if defined(LOCKSTEP_WITH_GLOO)

TEST(ZeroState, IsConsolidatedOnOneRankAndGoesOnElsewhere) {
  constexpr int kWorld = 3;
  const auto errors = test::runOverGloo(kWorld, [&](const test::GroupPtr& group) {
    const int rank = group->rank();
    const auto give = [&](Net& net, int step) {
      for (std::size_t i = 0; i < net.parameters().size(); ++i) {
        const at::Tensor parameter = net.parameters()[i];
        parameter.mutable_grad() = numbers(parameter.sizes().vec(), 10 * step + i);
      }
    };
    Net net(kWideSizes);
    ZeroRedundancyOptimizer zero(named(net), group, optimizerConfig("adam"));
    const auto nothing = zero.consolidateStateDict(1);
    EXPECT_EQ(nothing.size(), rank == 1 ? net.parameters().size() : 0u);
    Net alone(kWideSizes);
    auto whole = optim::ParameterOptimizer::make(optimizerConfig("adam"), alone.parameters()).value();
    const auto stepBoth = [&](int from, int to, ZeroRedundancyOptimizer& shared, Net& sharedNet) {
      for (int step = from; step < to; ++step) {
        give(sharedNet, step);
        shared.step();
        give(alone, step);
        for (std::size_t i = 0; i < alone.parameters().size(); ++i) {
          whole->step(i, alone.parameters()[i].grad());
        }
      }
    };
    stepBoth(0, 4, zero, net);
    const auto states = zero.consolidateStateDict(1);
    if (rank == 1) {
      ASSERT_EQ(states.size(), net.parameters().size());
      for (std::size_t i = 0; i < states.size(); ++i) {
        const auto expected = whole->state(i);
        ASSERT_EQ(states[i].size(), expected.size());
        for (const auto& [name, tensor] : expected) {
          EXPECT_TRUE(at::equal(states[i].at(name), tensor)) << name << " of " << i;
        }
      }
    } else {
      EXPECT_TRUE(states.empty());
    }
    // A new optimizer that got the state, as from a checkpoint, goes on as the old one.
    std::vector<optim::ParameterState> loaded;
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      loaded.push_back(whole->state(i));
    }
    ZeroRedundancyOptimizer restored(named(net), group, optimizerConfig("adam"));
    restored.loadStateDict(loaded);
    stepBoth(4, 7, restored, net);
    EXPECT_TRUE(test::equal(test::weights(net), test::weights(alone)));
    loaded.pop_back();
    EXPECT_THROW(restored.loadStateDict(loaded), DdpError);
    EXPECT_THROW(static_cast<void>(zero.consolidateStateDict(3)), std::invalid_argument);
    group->barrier()->wait();
  });
  EXPECT_THAT(errors, testing::Each(""));
}

#endif

}  // namespace
}  // namespace lockstep::ddp
