#include "engine/ddp/DistributedDataParallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ddp/DdpError.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using test::kSizes;
using test::LoopbackGroup;
using test::Net;
using test::NormNet;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr std::int64_t kBatch = 3;

at::Tensor loss(const at::Tensor& output, const at::Tensor& target) {
  return torch::mse_loss(output, target);
}

/// The batchRows of step `step` that belong to `rank`; rank -1 has those of all `world` ranks.
at::Tensor batchRows(const char* what, int step, int rank, int world, std::int64_t columns) {
  const at::Tensor all =
      test::numbers({world * kBatch, columns},
                    1000 + static_cast<std::uint64_t>(step) * 2 + (what[0] == 't' ? 1 : 0));
  return rank < 0 ? all : all.narrow(0, rank * kBatch, kBatch);
}

std::vector<at::Tensor> trainAlone(int world, int steps) {
  Net net(kSizes);
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    loss(net.forward(batchRows("input", step, -1, world, 4)),
         batchRows("target", step, -1, world, 2))
        .backward();
    optimizer.step();
  }
  return test::weights(net);
}

DdpOptions smallBuckets(bool view = false) {
  return test::withCaps(40, 100, view);
}

/// `seed` differs by rank on purpose where the initial broadcast is to make replicas equal.
std::vector<at::Tensor> trainRank(std::shared_ptr<LoopbackGroup> group, int steps,
                                  const DdpOptions& options, bool setToNone = false) {
  auto net = std::make_shared<Net>(kSizes, group->rank() == 0 ? 1 : 99);
  DistributedDataParallel ddp(net, group, options);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < steps; ++step) {
    ddp.setStep(static_cast<std::uint32_t>(step));
    const auto output = ddp.forward<Net>(batchRows("input", step, group->rank(), group->size(), 4));
    if (setToNone) {
      net->zero_grad(/*set_to_none=*/true);
    } else {
      optimizer.zero_grad();
    }
    loss(output, batchRows("target", step, group->rank(), group->size(), 2)).backward();
    ddp.checkFinalized();
    optimizer.step();
  }
  return test::weights(*net);
}

class EqualsTrainingAlone : public testing::TestWithParam<std::tuple<int, bool, const char*>> {};

TEST_P(EqualsTrainingAlone, WithABatchAsLargeAsAllRanksTogether) {
  const auto [world, view, rule] = GetParam();
  const auto expected = trainAlone(world, 5);
  test::runRanksWell(world, [&, view = view, rule = rule](auto group) {
    auto options = smallBuckets(view);
    options.bucketRule = rule;
    EXPECT_TRUE(test::close(trainRank(group, 5, options), expected));
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, EqualsTrainingAlone,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::Bool(),
                                          testing::Values("c10d-1.13", "c10d-1.9")));

TEST(DistributedDataParallel, TrainsTheSameBitsWithAndWithoutBucketViews) {
  test::runRanksWell(2, [](auto group) {
    const auto copied = trainRank(group, 4, smallBuckets(false));
    EXPECT_TRUE(test::equal(trainRank(group, 4, smallBuckets(true)), copied));
    EXPECT_TRUE(test::equal(trainRank(group, 4, smallBuckets(true), /*setToNone=*/true), copied));
    EXPECT_TRUE(test::equal(trainRank(group, 4, smallBuckets(false), /*setToNone=*/true), copied));
  });
}

TEST(DistributedDataParallel, LetsGradientsAliasTheBucketsOnlyWhenAskedTo) {
  test::runRanksWell(2, [](auto group) {
    for (const bool view : {false, true}) {
      auto net = std::make_shared<Net>(kSizes);
      DistributedDataParallel ddp(net, group, smallBuckets(view));
      const auto step = [&] { ddp.forward<Net>(at::ones({2, 4})).sum().backward(); };
      step();
      const auto first = net->parameters();
      // One unlimited bucket before the rebuild: all gradients lie in one storage.
      EXPECT_EQ(first[0].grad().is_alias_of(first[1].grad()), view);
      step();
      ASSERT_TRUE(ddp.hasRebuiltBuckets());
      const auto& bucket = ddp.plan().buckets.front().parameters;
      ASSERT_GE(ddp.plan().buckets.size(), 2u);
      const auto last = ddp.plan().buckets.back().parameters.front();
      EXPECT_FALSE(first[bucket.front()].grad().is_alias_of(first[last].grad()));
      step();
      EXPECT_EQ(net->layers[0]->weight.grad().sizes(), net->layers[0]->weight.sizes());
    }
  });
}

TEST(DistributedDataParallel, KeepsAccumulatedGradientsOverTheRebuildWithViews) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    DistributedDataParallel ddp(net, group, smallBuckets(true));
    ddp.forward<Net>(at::ones({2, 4})).sum().backward();
    const auto before = test::gradients(*net);
    ddp.preForward();  // rebuilds
    ASSERT_TRUE(ddp.hasRebuiltBuckets());
    EXPECT_TRUE(test::equal(test::gradients(*net), before));
  });
}

TEST(DistributedDataParallel, StartsFromRankZerosParametersAndBuffers) {
  test::runRanksWell(3, [](auto group) {
    const auto seed = static_cast<std::uint64_t>(group->rank() + 1);
    auto net = std::make_shared<NormNet>(seed);
    net->norm->running_mean.fill_(group->rank());
    DistributedDataParallel ddp(net, group);
    EXPECT_TRUE(test::equal(test::weights(*net), test::weights(NormNet(1))));
    EXPECT_TRUE(at::equal(net->norm->running_mean, at::zeros({3})));
  });
}

TEST(DistributedDataParallel, LeavesBuffersAloneWhenToldTo) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<NormNet>();
    net->norm->running_mean.fill_(group->rank());
    DdpOptions options;
    options.broadcastBuffers = false;
    DistributedDataParallel ddp(net, group, options);
    ddp.preForward();
    EXPECT_EQ(net->norm->running_mean[0].template item<float>(), group->rank());
  });
}

// broadcast_buffers off in PyTorch 1.13.
TEST(DistributedDataParallel, CopiesBuffersAtTheStartAloneWithForwardSyncBuffersOff) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<NormNet>();
    net->norm->running_mean.fill_(group->rank() + 1);
    DdpOptions options;
    options.forwardSyncBuffers = false;
    DistributedDataParallel ddp(net, group, options);
    EXPECT_EQ(net->norm->running_mean[0].template item<float>(), 1);
    net->norm->running_mean.fill_(group->rank() + 1);
    ddp.preForward();
    EXPECT_EQ(net->norm->running_mean[0].template item<float>(), group->rank() + 1);
  });
}

TEST(DistributedDataParallel, BroadcastsBuffersBeforeAForwardThatFollowsASynchronisedOne) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<NormNet>();
    DistributedDataParallel ddp(net, group);
    const auto input = test::numbers({8, 4}, static_cast<std::uint64_t>(group->rank()));
    const auto own = [&] { return net->norm->running_mean.clone(); };
    const auto disturb = [&] { net->norm->running_mean.fill_(group->rank() + 1.0); };
    const auto isRankZeros = [&] {
      ddp.preForward();
      const bool same = at::equal(own(), at::full({3}, 1.0));
      ddp.postForward();
      return same;
    };
    disturb();
    EXPECT_TRUE(isRankZeros());
    disturb();
    EXPECT_TRUE(isRankZeros());
    {
      DistributedDataParallel::NoSync noSync(ddp);
      disturb();
      EXPECT_TRUE(isRankZeros());  // follows a synchronised forward
      disturb();
      EXPECT_EQ(isRankZeros(), group->rank() == 0);  // follows one under no_sync
    }
    disturb();
    EXPECT_EQ(isRankZeros(), group->rank() == 0);
    disturb();
    EXPECT_TRUE(isRankZeros());
  });
}

TEST(DistributedDataParallel, FollowsABufferThatTheModuleReplaced) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    at::Tensor buffer = at::zeros({2});
    ModelState state = ModelState::of(net);
    state.buffers = [&] { return std::vector<NamedTensor>{{"mean", buffer}}; };
    DistributedDataParallel ddp(std::move(state), group);
    buffer = at::full({2}, group->rank() + 5.0);
    ddp.preForward();
    EXPECT_TRUE(at::equal(buffer, at::full({2}, 5.0)));
  });
}

TEST(DistributedDataParallel, AccumulatesUnderNoSyncAndReducesTheSumAfterwards) {
  for (const bool view : {false, true}) {
    // Alone: the gradients of two batches of all ranks, added.
    Net alone(kSizes);
    for (int step = 0; step < 2; ++step) {
      loss(alone.forward(batchRows("input", step, -1, 2, 4)), batchRows("target", step, -1, 2, 2)).backward();
    }
    const auto expected = test::gradients(alone);
    test::runRanksWell(2, [&](auto group) {
      auto net = std::make_shared<Net>(kSizes);
      DistributedDataParallel ddp(net, group, smallBuckets(view));
      const auto step = [&](int index) {
        const auto output = ddp.forward<Net>(batchRows("input", index, group->rank(), 2, 4));
        loss(output, batchRows("target", index, group->rank(), 2, 2)).backward();
        ddp.checkFinalized();
      };
      for (int round = 0; round < 3; ++round) {  // over the rebuild
        const auto calls = group->reducedBuckets().size();
        for (auto& parameter : net->parameters()) {
          if (parameter.grad().defined()) {
            parameter.mutable_grad().zero_();
          }
        }
        {
          DistributedDataParallel::NoSync noSync(ddp);
          step(0);
        }
        EXPECT_EQ(group->reducedBuckets().size(), calls);
        step(1);
        EXPECT_TRUE(test::close(test::gradients(*net), expected)) << "round " << round;
      }
    });
  }
}

TEST(DistributedDataParallel, CommunicatesNothingInAForwardWithoutGradients) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    DistributedDataParallel ddp(net, group);
    ddp.forward<Net>(at::ones({1, 4})).sum().backward();
    const auto calls = group->sequenceNumber();
    torch::NoGradGuard noGrad;
    ddp.forward<Net>(at::ones({1, 4}));
    EXPECT_EQ(group->sequenceNumber(), calls);
    EXPECT_FALSE(ddp.hasRebuiltBuckets());
  });
}

TEST(DistributedDataParallel, ReducesAParameterThatIsSharedOnce) {
  struct Tied : torch::nn::Module {
    Tied() : a(register_module("a", torch::nn::Linear(3, 3))) {
      register_parameter("alias", a->weight);
      test::fill(*this, 1);
    }
    at::Tensor forward(const at::Tensor& x) { return a->forward(a->forward(x)); }
    torch::nn::Linear a;
  };
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Tied>();
    DistributedDataParallel ddp(net, group);
    ASSERT_EQ(ddp.parameters().size(), 2u);
    EXPECT_EQ(ddp.parameters()[0].name, "alias");
    EXPECT_EQ(ddp.parameters()[1].name, "a.bias");
    ddp.template forward<Tied>(at::ones({1, 3}) * (group->rank() + 1)).sum().backward();
    ddp.checkFinalized();
  });
}

TEST(DistributedDataParallel, LeavesFrozenParametersOut) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    net->layers[0]->weight.set_requires_grad(false);
    DistributedDataParallel ddp(net, group);
    EXPECT_EQ(ddp.parameters().size(), 5u);
    EXPECT_EQ(ddp.parameters()[0].name, "fc0.bias");
    ddp.forward<Net>(at::ones({1, 4})).sum().backward();
    ddp.checkFinalized();
    EXPECT_FALSE(net->layers[0]->weight.grad().defined());
  });
}

TEST(DistributedDataParallel, RefusesAModelWithoutTrainedParameters) {
  EXPECT_THAT(test::runRanks(1,
                             [](auto group) {
                               auto net = std::make_shared<Net>(kSizes);
                               for (auto& parameter : net->parameters()) {
                                 parameter.set_requires_grad(false);
                               }
                               DistributedDataParallel ddp(net, group);
                             }),
              Each(HasSubstr("none of the model's 6 parameters requires a gradient")));
}

TEST(DistributedDataParallel, RefusesSettingsThatAreNoSizes) {
  const auto construct = [](auto change) {
    return test::runRanks(1, [change](auto group) {
      DdpOptions options;
      change(options);
      DistributedDataParallel ddp(std::make_shared<Net>(kSizes), group, options);
    });
  };
  EXPECT_THAT(construct([](auto& options) { options.bucketCapMb = -1; }),
              Each(HasSubstr("ddp.bucket_cap_mb: a bucket cap of -1 MiB is not possible")));
  EXPECT_THAT(construct([](auto& options) { options.bucketRule = "c10d-2"; }),
              Each(HasSubstr("unknown bucket rule 'c10d-2'; use c10d-1.13 or c10d-1.9")));
}

TEST(DistributedDataParallel, CanBeBuiltAgainOnTheSameModelOnceTheFirstIsGone) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    { DistributedDataParallel first(net, group); }
    DistributedDataParallel second(net, group);
    const auto calls = group->reducedBuckets().size();
    second.forward<Net>(at::ones({1, 4})).sum().backward();
    EXPECT_EQ(group->reducedBuckets().size(), calls + 1);
  });
}

TEST(DistributedDataParallel, RefusesAModelThatAnotherOneReduces) {
  EXPECT_THAT(test::runRanks(1,
                             [](auto group) {
                               auto net = std::make_shared<Net>(kSizes);
                               DistributedDataParallel first(net, group);
                               DistributedDataParallel second(net, group);
                             }),
              Each(HasSubstr("parameter 'fc0.weight' (0) is reduced by another")));
}

TEST(DistributedDataParallel, TakesItsBucketsFromTheProcessGroup) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group);
    EXPECT_EQ(group->allocatedBytes(), (4 * 2 + 2) * 4);
  });
}

// What PyTorch accepts in silence: see the handshake, and tests/mistakes for dtypes and order.

std::vector<std::string> buildOnTwoRanks(
    const std::function<std::shared_ptr<torch::nn::Module>(int rank)>& build,
    const std::function<void(int rank, DdpOptions&)>& change = [](int, DdpOptions&) {}) {
  return test::runRanks(2, [&](auto group) {
    DdpOptions options;
    change(group->rank(), options);
    DistributedDataParallel ddp(build(group->rank()), group, options);
  });
}

TEST(Verification, NamesWhatOneRankHasMore) {
  EXPECT_THAT(buildOnTwoRanks([](int rank) {
                return std::make_shared<Net>(rank == 0 ? std::vector<std::int64_t>{4, 2}
                                                       : std::vector<std::int64_t>{4, 2, 2});
              }),
              Each(HasSubstr("rank 0 has no parameter 2; rank 1 has parameter 'fc1.weight' (2), "
                             "float32 [2, 2]")));
}

TEST(Verification, ComparesParametersWithParametersAndBuffersWithBuffers) {
  EXPECT_THAT(
      buildOnTwoRanks([](int rank) {
        auto net = std::make_shared<Net>(rank == 0 ? std::vector<std::int64_t>{4, 2, 2}
                                                   : std::vector<std::int64_t>{4, 2});
        net->register_buffer("extra", at::zeros({1}));
        return net;
      }),
      Each(HasSubstr("rank 0 has parameter 'fc1.weight' (2), float32 [2, 2], strides [2, 1], "
                     "trained; rank 1 has no parameter 2.")));
  EXPECT_THAT(
      buildOnTwoRanks([](int rank) {
        auto net = std::make_shared<Net>(kSizes);
        if (rank == 1) {
          net->register_buffer("extra", at::zeros({1}));
        }
        return net;
      }),
      Each(HasSubstr("rank 0 has no buffer 0; rank 1 has buffer 'extra' (0), float32 [1].")));
}

TEST(Verification, NamesStridesThatDiffer) {
  EXPECT_THAT(buildOnTwoRanks([](int rank) {
                torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 8, 3));
                if (rank == 1) {
                  conv->weight.set_data(conv->weight.contiguous(at::MemoryFormat::ChannelsLast));
                }
                return conv.ptr();
              }),
              Each(AllOf(HasSubstr("strides [27, 9, 3, 1]"), HasSubstr("strides [27, 1, 9, 3]"))));
}

TEST(Verification, NamesFrozenParametersBuffersSettingsAndHooks) {
  EXPECT_THAT(buildOnTwoRanks([](int rank) {
                auto net = std::make_shared<Net>(kSizes);
                net->layers[2]->bias.set_requires_grad(rank == 0);
                return net;
              }),
              Each(AllOf(HasSubstr("'fc2.bias' (5), float32 [2], strides [1], trained"),
                         HasSubstr("'fc2.bias' (5), float32 [2], strides [1], frozen"))));
  EXPECT_THAT(buildOnTwoRanks([](int rank) {
                auto net = std::make_shared<NormNet>();
                net->register_buffer("extra", at::zeros({rank + 1}));
                return net;
              }),
              Each(AllOf(HasSubstr("buffer 'extra' (0), float32 [1]"),
                         HasSubstr("buffer 'extra' (0), float32 [2]"))));
  const auto sameNet = [](int) { return std::make_shared<Net>(kSizes); };
  EXPECT_THAT(buildOnTwoRanks(sameNet,
                              [](int rank, DdpOptions& options) {
                                options.bucketCapMb = rank == 0 ? 25 : 12.5;
                              }),
              Each(AllOf(HasSubstr("cap 25 MiB"), HasSubstr("cap 12.5 MiB"))));
}

}  // namespace
}  // namespace lockstep::ddp
