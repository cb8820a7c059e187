#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::apart;
using test::HookRank;
using test::libraryHook;
using test::RankValues;
using test::runHooks;
using test::Values;
using testing::Each;
using testing::HasSubstr;

constexpr std::int64_t kGossipCount = 300;

plugin::HookChoice gradientGossip(Values values = {}) {
  values.emplace("mix", std::string("gradients"));
  return libraryHook("gossip", std::move(values));
}

/// What each rank has of its gradients after `steps` mixes.
void mixed(int world, const plugin::HookChoice& hook, std::uint32_t steps,
           const std::function<void(const HookRank&, const at::Tensor&)>& check) {
  const auto errors = runHooks(world, hook, [&](HookRank& rank) {
    at::Tensor values = test::gradients(kGossipCount, rank.rank);
    for (std::uint32_t step = 0; step < steps; ++step) {
      values = rank.average(values, step);
    }
    check(rank, values);
  });
  EXPECT_THAT(errors, Each(""));
}

class Topologies : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Gossip, Topologies, testing::Values("dissemination", "cube"));

TEST_P(Topologies, ReachTheExactMeanOfFourRanksInTwoSteps) {
  mixed(4, gradientGossip({{"topology", std::string(GetParam())}, {"rotate", 0.0}}), 2,
        [](const HookRank&, const at::Tensor& values) {
          EXPECT_LT(apart(values, test::meanGradients(kGossipCount, 4)), 1e-6);
        });
}

TEST_P(Topologies, OfTwoRanksAreAllreduce) {
  mixed(2, gradientGossip({{"topology", std::string(GetParam())}}), 1,
        [](const HookRank&, const at::Tensor& values) {
          EXPECT_LT(apart(values, test::meanGradients(kGossipCount, 2)), 1e-6);
        });
}

TEST_P(Topologies, KeepTheSumOverTheRanksInEachStepAsTheyRotate) {
  RankValues values;
  const auto errors =
      runHooks(4, gradientGossip({{"topology", std::string(GetParam())}}), [&](HookRank& rank) {
        at::Tensor own = test::gradients(kGossipCount, rank.rank);
        for (std::uint32_t step = 0; step < 9; ++step) {
          own = rank.average(own, step);
          values.add(step, own);
        }
      });
  ASSERT_THAT(errors, Each(""));
  for (std::uint32_t step = 0; step < 9; ++step) {
    EXPECT_LT(apart(at::stack(values.at(step)).mean(0), test::meanGradients(kGossipCount, 4)), 1e-5);
  }
}

TEST(Gossip, WeighsThreeRanksAsOftenAsTheirNewsArrives) {
  // From j ranks back for each j < 4: the own news and that from 3 back are the same.
  mixed(
      3, gradientGossip({{"rotate", 0.0}}), 2, [](const HookRank& rank, const at::Tensor& values) {
        const auto back = [&](int by) { return test::gradients(kGossipCount, (rank.rank - by + 3) % 3); };
        EXPECT_LT(apart(values, (2 * back(0) + back(1) + back(2)) / 4), 1e-6);
      });
}

TEST(Gossip, IsExactBetweenTwoNodesOfTwoRanks) {
  mixed(4, gradientGossip({{"ranks_per_node", 2.0}}), 1,
        [](const HookRank&, const at::Tensor& values) {
          EXPECT_LT(apart(values, test::meanGradients(kGossipCount, 4)), 1e-6);
        });
}

/// How far replicas are apart after each of 100 steps along a direction in which the loss is flat,
/// so that gradients are noise.
void drift(const plugin::HookChoice& hook, RankValues& parameters) {
  const auto errors = runHooks(4, hook, [&](HookRank& rank) {
    const at::Tensor parameter = at::zeros({kGossipCount});
    rank.train(
        parameter, 0, 100, 1,
        [&](const at::Tensor&, std::uint32_t step) {
          return test::gradients(kGossipCount, rank.rank, step);
        },
        [&](std::uint32_t step) { parameters.add(step, parameter); });
  });
  ASSERT_THAT(errors, Each(""));
}

TEST(Gossip, OfGradientsLetsReplicasDriftAndOfParametersDoesNot) {
  RankValues gradients;
  RankValues parameters;
  drift(gradientGossip(), gradients);
  drift(libraryHook("gossip"), parameters);
  EXPECT_GT(gradients.spread(99), 5 * gradients.spread(9)) << "grows with the steps";
  EXPECT_LT(parameters.spread(99), 2 * parameters.spread(9));
  EXPECT_GT(gradients.spread(99), 10 * parameters.spread(99));
}

TEST(Gossip, BringsAllTogetherWhenAskedTo) {
  for (const auto& hook : {gradientGossip({{"average_every", 10.0}}),
                           libraryHook("gossip", {{"average_every", 10.0}})}) {
    RankValues parameters;
    drift(hook, parameters);
    EXPECT_TRUE(parameters.allEqual(9));
    EXPECT_FALSE(parameters.allEqual(10));
    EXPECT_TRUE(parameters.allEqual(99));
  }
}

TEST(Gossip, RefusesACubeOfThreeNodes) {
  const auto errors = runHooks(3, libraryHook("gossip", {{"topology", std::string("cube")}}),
                               [](HookRank&) { FAIL(); });
  EXPECT_THAT(errors, Each(HasSubstr("a cube needs a power of two of nodes, and there are 3")));
}

TEST(Gossip, SendsTheBucketOnceHoweverManyRanksThereAre) {
  for (const int world : {2, 4}) {
    mixed(world, gradientGossip(), 5, [](const HookRank& rank, const at::Tensor&) {
      EXPECT_EQ(rank.sentBytes(), 5 * kGossipCount * sizeof(float));
    });
  }
}

}  // namespace
}  // namespace lockstep::hooks
