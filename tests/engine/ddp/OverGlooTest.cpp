#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/Join.h"
#include "engine/hooks/MakeHook.h"
#include "engine/trace/Event.h"
#include "tests/engine/ddp/GlooRanks.h"
#include "tests/engine/ddp/TestModels.h"
#include "tests/support/RankRecording.h"

#if defined(LOCKSTEP_WITH_GLOO)

namespace lockstep::ddp {
namespace {

using test::kWideSizes;
using test::Net;
using test::runOverGloo;
using test::severalBuckets;

at::Tensor twoRows(int step, int rank) {
  return test::numbers({2, 8}, static_cast<std::uint64_t>(100 * step + rank));
}

void step(torch::nn::Module& net, torch::optim::SGD& optimizer, const at::Tensor& output) {
  test::clearGradients(net);
  output.square().mean().backward();
  optimizer.step();
}

class OverGloo : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(OverGloo, TrainsAsOneProcessWithTheBatchesOfAllRanks) {
  const auto [world, view] = GetParam();
  constexpr int kSteps = 6;
  Net alone(kWideSizes);
  torch::optim::SGD optimizer(alone.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int i = 0; i < kSteps; ++i) {
    std::vector<at::Tensor> all;
    for (int rank = 0; rank < world; ++rank) {
      all.push_back(twoRows(i, rank));
    }
    step(alone, optimizer, alone.forward(at::cat(all)));
  }
  const auto expected = test::weights(alone);
  const auto errors = runOverGloo(world, [&, view = view](auto group) {
    auto net = std::make_shared<Net>(kWideSizes, group->rank() + 1);
    DistributedDataParallel ddp(net, group, severalBuckets(view));
    torch::optim::SGD own(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    for (int i = 0; i < kSteps; ++i) {
      step(*net, own, ddp.forward<Net>(twoRows(i, group->rank())));
      ddp.checkFinalized();
    }
    EXPECT_GE(ddp.plan().buckets.size(), 3u);
    EXPECT_TRUE(test::close(test::weights(*net), expected));
  });
  EXPECT_THAT(errors, testing::Each(""));
}

INSTANTIATE_TEST_SUITE_P(Worlds, OverGloo,
                         testing::Combine(testing::Values(2, 3, 4), testing::Bool()));

TEST(OverGlooHook, AveragesAsWithoutAHook) {
  const auto errors = runOverGloo(2, [](auto group) {
    auto net = std::make_shared<Net>(kWideSizes);
    auto options = severalBuckets(false);
    options.hook = hooks::makeHook("allreduce", {group, nullptr}).value();
    DistributedDataParallel ddp(net, group, options);
    for (int i = 0; i < 3; ++i) {
      net->zero_grad();
      ddp.forward<Net>(at::full({1, 8}, group->rank() + 1.0)).sum().backward();
    }
    EXPECT_TRUE(at::allclose(net->layers[2]->bias.grad(), at::ones({4})));
  });
  EXPECT_THAT(errors, testing::Each(""));
}

// Ranks begin with iteration 5, as after a checkpoint, and end with 5 and with 7: what they still
// say to each other belongs to one of these, and none of it to iteration 0.
TEST(OverGlooEvents, AJoinsLastCollectivesCarryTheIterationsInWhichRanksJoined) {
  support::RankRecording recording;
  auto groupOptions = test::glooOptions();
  groupOptions.tracer = &recording.tracer();
  const auto errors = runOverGloo(
      2,
      [](auto group) {
        DdpOptions options;
        options.initSync = false;
        auto net = std::make_shared<Net>(kWideSizes);
        DistributedDataParallel ddp(net, group, options);
        Join join({&ddp});
        std::uint32_t step = 5;
        join.run(step, [&] {
          for (; step < (group->rank() == 0 ? 6u : 8u); ++step) {
            ddp.setStep(step);
            ddp.forward<Net>(twoRows(static_cast<int>(step), group->rank())).sum().backward();
          }
        });
      },
      groupOptions);
  EXPECT_THAT(errors, testing::Each(""));
  trace::Event last;  // of the broadcasts: that of the last rank's model
  for (const trace::Event& event : recording.eventsOf(trace::EventKind::kCollective)) {
    const auto operation = trace::operationOf(event.detail);
    EXPECT_GE(event.step, 5u) << trace::name(operation);
    EXPECT_LE(event.step, 8u) << trace::name(operation);
    if (operation == trace::Operation::kBroadcast && event.startTicks > last.startTicks) {
      last = event;
    }
  }
  EXPECT_EQ(last.step, 7u);
}

TEST(OverRoundRobin, TrainsTheSameBitsAsOverOneGroup) {
  const auto train = [](int groups) {
    std::vector<std::vector<at::Tensor>> trained(2);
    auto options = test::glooOptions();
    options.roundRobin = groups;
    const auto errors = runOverGloo(
        2,
        [&](auto group) {
          auto net = std::make_shared<Net>(kWideSizes, group->rank() + 1);
          DistributedDataParallel ddp(net, group, severalBuckets(false));
          torch::optim::SGD own(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
          for (int i = 0; i < 6; ++i) {
            step(*net, own, ddp.forward<Net>(twoRows(i, group->rank())));
            ddp.checkFinalized();
          }
          EXPECT_TRUE(ddp.hasRebuiltBuckets());
          trained[static_cast<std::size_t>(group->rank())] = test::weights(*net);
        },
        options);
    EXPECT_THAT(errors, testing::Each(""));
    EXPECT_TRUE(test::equal(trained[0], trained[1]));
    return trained[0];
  };
  const auto expected = train(1);
  for (const int groups : {2, 3}) {
    EXPECT_TRUE(test::equal(train(groups), expected)) << groups << " groups";
  }
}

TEST(OverRoundRobin, PeersOfARankWithAnUnusedParameterEndWithItsName) {
  auto options = test::glooOptions();
  options.roundRobin = 3;
  const auto errors = runOverGloo(
      2,
      [](auto group) {
        auto net = std::make_shared<test::TwoHeads>();
        DistributedDataParallel ddp(net, group);
        const auto [left, right] = ddp.forward<test::TwoHeads>(at::ones({1, 4}));
        (group->rank() == 1 ? left.sum() : left.sum() + right.sum()).backward();
        ddp.checkFinalized();
      },
      options);
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("'right.weight' (2)")));
}

TEST(OverGlooErrors, CarryTheRankAndTheBucketThroughTheBackward) {
  std::latch made(2);
  const auto errors = runOverGloo(2, [&](auto group) {
    auto net = std::make_shared<Net>(kWideSizes);
    DistributedDataParallel ddp(net, group);
    const auto output = ddp.forward<Net>(at::ones({1, 8}));
    made.arrive_and_wait();
    if (group->rank() == 1) {
      group->abort("left on purpose");
      return;
    }
    try {
      output.sum().backward();
      ADD_FAILURE() << "the backward succeeded alone";
    } catch (const process_group::CommError& error) {
      EXPECT_EQ(error.where().bucket, 0);
      EXPECT_EQ(error.where().rank, 0);
      EXPECT_EQ(error.where().operation, trace::Operation::kAllreduce);
    }
    EXPECT_THROW(ddp.preForward(), DdpError);
  });
  EXPECT_THAT(errors, testing::Each(""));
}

}  // namespace
}  // namespace lockstep::ddp

#endif
