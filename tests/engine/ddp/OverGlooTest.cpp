#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "engine/hooks/MakeHook.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/HashStore.h"
#include "tests/engine/ddp/TestModels.h"

#if defined(LOCKSTEP_WITH_GLOO)

namespace lockstep::ddp {
namespace {

using test::Net;

const std::vector<std::int64_t> kSizes{8, 16, 16, 4};

/// Runs `body` once a rank over Gloo on the loopback; returns the text each rank threw.
std::vector<std::string> runRanks(
    int world, const std::function<void(std::shared_ptr<process_group::ProcessGroup>)>& body) {
  const auto store = std::make_shared<store::HashStore>();
  std::vector<std::string> errors(static_cast<std::size_t>(world));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        process_group::GroupOptions options;
        options.timeout = std::chrono::seconds(20);
        options.interfaces = {"127.0.0.1"};
        auto group = process_group::makeProcessGroup("gloo", store, rank, world, options);
        if (!group.ok()) {
          throw std::runtime_error(group.error().message());
        }
        body(group.value());
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : ranks) {
    thread.join();
  }
  return errors;
}

DdpOptions severalBuckets(bool view) {
  DdpOptions options;
  options.config.firstBucketMb = 200.0 / 1048576;
  options.config.bucketCapMb = 600.0 / 1048576;
  options.config.gradientAsBucketView = view;
  return options;
}

at::Tensor rows(int step, int rank) {
  return test::numbers({2, 8}, static_cast<std::uint64_t>(100 * step + rank));
}

void step(torch::nn::Module& net, torch::optim::SGD& optimizer, const at::Tensor& output) {
  for (auto& parameter : net.parameters()) {
    if (parameter.grad().defined()) {
      parameter.mutable_grad().zero_();
    }
  }
  output.square().mean().backward();
  optimizer.step();
}

class OverGloo : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(OverGloo, TrainsAsOneProcessWithTheBatchesOfAllRanks) {
  const auto [world, view] = GetParam();
  constexpr int kSteps = 6;
  Net alone(kSizes);
  torch::optim::SGD optimizer(alone.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int i = 0; i < kSteps; ++i) {
    std::vector<at::Tensor> all;
    for (int rank = 0; rank < world; ++rank) {
      all.push_back(rows(i, rank));
    }
    step(alone, optimizer, alone.forward(at::cat(all)));
  }
  const auto expected = test::weights(alone);
  const auto errors = runRanks(world, [&, view = view](auto group) {
    auto net = std::make_shared<Net>(kSizes, group->rank() + 1);
    DistributedDataParallel ddp(net, group, severalBuckets(view));
    torch::optim::SGD own(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    for (int i = 0; i < kSteps; ++i) {
      step(*net, own, ddp.forward<Net>(rows(i, group->rank())));
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
  const auto errors = runRanks(2, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
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

TEST(OverGlooErrors, CarryTheRankAndTheBucketThroughTheBackward) {
  const auto errors = runRanks(2, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    DistributedDataParallel ddp(net, group);
    const auto output = ddp.forward<Net>(at::ones({1, 8}));
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
