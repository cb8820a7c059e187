#include "engine/ddp/SyncBatchNorm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using test::numbers;

/// A convolution, a normalisation of pictures in a Sequential, and one of rows as a member.
struct Pictures : torch::nn::Module {
  Pictures()
      : first(register_module(
            "first", torch::nn::Sequential(torch::nn::Conv2d(2, 4, 3), torch::nn::BatchNorm2d(4)))),
        last(register_module("last", torch::nn::BatchNorm1d(4))) {
    test::fill(*this, 7);
    to(at::kDouble);  // so that the comparison shows formulas, not the rounding of summations
  }
  at::Tensor forward(const at::Tensor& x) {
    return last->forward(first->forward(x).tanh().flatten(2).select(2, 0));
  }
  torch::nn::Sequential first;
  torch::nn::BatchNorm1d last;
};

at::Tensor pictures() {
  return numbers({10, 2, 5, 5}, 3).to(at::kDouble);
}

/// A loss that weighs each sample apart, so that no gradient vanishes by symmetry.
at::Tensor lossOf(const at::Tensor& output, const at::Tensor& weights) {
  return (output * weights).square().sum();
}

std::vector<at::Tensor> buffersOf(const torch::nn::Module& module) {
  std::vector<at::Tensor> list;
  for (const auto& buffer : module.buffers()) {
    list.push_back(buffer.clone());
  }
  return list;
}

struct Shares : testing::TestWithParam<std::vector<std::int64_t>> {};

TEST_P(Shares, OfABatchNormaliseAsTheWholeBatchInOneProcess) {
  const std::vector<std::int64_t> rows = GetParam();
  Pictures alone;
  const at::Tensor whole = pictures().requires_grad_();
  const at::Tensor weights = numbers({10, 4}, 5).to(at::kDouble);
  const at::Tensor expected = alone.forward(whole);
  lossOf(expected, weights).backward();
  const auto wholeBuffers = buffersOf(alone);

  test::runRanksWell(static_cast<int>(rows.size()), [&](auto group) {
    const auto rank = static_cast<std::size_t>(group->rank());
    std::int64_t from = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      from += rows[i];
    }
    Pictures net;
    const auto converted = convertSyncBatchNorm(net, group);
    EXPECT_THAT(converted->layers(), testing::ElementsAre("first.1", "last"));
    const at::Tensor own = pictures().narrow(0, from, rows[rank]).clone().requires_grad_();
    const at::Tensor output = net.forward(own);
    lossOf(output, weights.narrow(0, from, rows[rank])).backward();
    auto gradients = test::gradients(net);
    group->allreduce(gradients, process_group::ReduceOp::kSum, {})->wait();
    const double difference =
        std::max({test::largestDifference({output}, {expected.narrow(0, from, rows[rank])}),
                  test::largestDifference({own.grad()}, {whole.grad().narrow(0, from, rows[rank])}),
                  test::largestDifference(gradients, test::gradients(alone)),
                  test::largestDifference(buffersOf(net), wholeBuffers)});
    EXPECT_LE(difference, 1e-5);
    if (group->rank() == 0) {
      test::figure("difference", difference);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(SyncBatchNorm, Shares,
                         testing::Values(std::vector<std::int64_t>{5, 5},
                                         std::vector<std::int64_t>{8, 2},
                                         std::vector<std::int64_t>{3, 0, 7},
                                         std::vector<std::int64_t>{0, 10}));

TEST(SyncBatchNorm, LeavesEvaluationAndUnconvertedLayersAlone) {
  test::runRanksWell(2, [](auto group) {
    Pictures net;
    Pictures plain;
    const auto converted = convertSyncBatchNorm(net, group);
    const auto calls = group->sequenceNumber();
    net.eval();
    plain.eval();
    const at::Tensor own = pictures().narrow(0, 4 * group->rank(), 4);
    EXPECT_TRUE(at::equal(net.forward(own), plain.forward(own)));
    plain.train();
    static_cast<void>(plain.forward(own));
    EXPECT_EQ(group->sequenceNumber(), calls);
  });
}

TEST(SyncBatchNorm, EndsWithItsObject) {
  test::runRanksWell(2, [](auto group) {
    Pictures net;
    Pictures plain;
    { const auto converted = convertSyncBatchNorm(net, group); }
    const at::Tensor own = pictures().narrow(0, 4 * group->rank(), 4);
    EXPECT_TRUE(at::equal(net.forward(own), plain.forward(own)));
    EXPECT_EQ(group->sequenceNumber(), 0u);
  });
}

TEST(SyncBatchNorm, TrainsInsideDistributedDataParallelAsOneProcess) {
  test::NormNet alone;
  torch::optim::SGD optimizer(alone.parameters(), 0.1);
  const auto input = [](int step) { return numbers({6, 4}, static_cast<std::uint64_t>(step)); };
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    alone.forward(input(step)).pow(3).mean().backward();
    optimizer.step();
  }
  test::runRanksWell(2, [&](auto group) {
    auto net = std::make_shared<test::NormNet>(static_cast<std::uint64_t>(group->rank() + 1));
    const auto converted = convertSyncBatchNorm(*net, group);
    DistributedDataParallel ddp(net, group);
    EXPECT_EQ(ddp.loggingData().at("has_sync_bn"), "1");
    torch::optim::SGD own(net->parameters(), 0.1);
    for (int step = 0; step < 5; ++step) {
      own.zero_grad();
      const at::Tensor share = input(step).narrow(0, 3 * group->rank(), 3);
      ddp.template forward<test::NormNet>(share).pow(3).mean().backward();
      own.step();
    }
    EXPECT_TRUE(test::close(test::weights(*net), test::weights(alone)));
    EXPECT_TRUE(test::close(buffersOf(*net), buffersOf(alone)));
  });
}

TEST(SyncBatchNorm, NormalisesOneValueARank) {
  const at::Tensor values = at::tensor({1.0f, 3.0f}).view({2, 1});
  test::runRanksWell(2, [&](auto group) {
    auto exchange = std::make_shared<BatchNormExchange>(group, nullptr);
    const at::Tensor output =
        syncBatchNorm(values.narrow(0, group->rank(), 1), {}, {}, {{}, {}, 0.1, 0.0}, exchange);
    EXPECT_FLOAT_EQ(output.template item<float>(), group->rank() == 0 ? -1.0f : 1.0f);
  });
}

TEST(SyncBatchNorm, RefusesFewerThanTwoValuesAChannel) {
  const auto errors = test::runRanks(2, [](auto group) {
    auto exchange = std::make_shared<BatchNormExchange>(group, nullptr);
    static_cast<void>(syncBatchNorm(at::ones({group->rank(), 3}), {}, {}, {}, exchange));
  });
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("all 2 ranks together have 1")));
}

TEST(SyncBatchNorm, NamesALayerThatItCannotReach) {
  // As a TorchScript model stands in a tree of modules: its tensors, and no BatchNorm.
  struct Script : torch::nn::Module {
    Script() {
      auto layer = register_module("bn", std::make_shared<torch::nn::Module>());
      layer->register_parameter("weight", at::ones({3}));
      layer->register_buffer("running_mean", at::zeros({3}));
    }
  };
  EXPECT_THAT(test::runRanks(1,
                             [](auto group) {
                               Script script;
                               static_cast<void>(convertSyncBatchNorm(script, group));
                             }),
              testing::Each(testing::HasSubstr("layer 'bn' keeps running statistics and is no "
                                               "torch::nn::BatchNorm")));
  test::runRanksWell(1, [](auto group) {  // instance normalisation is no matter of the batch
    torch::nn::InstanceNorm2d norm(torch::nn::InstanceNorm2dOptions(3).track_running_stats(true));
    EXPECT_TRUE(convertSyncBatchNorm(*norm, group)->layers().empty());
  });
}

TEST(SyncBatchNorm, RefusesALayerThatNothingIdentifies) {
  test::runRanksWell(1, [](auto group) {
    torch::nn::Sequential net(torch::nn::BatchNorm1d(
        torch::nn::BatchNorm1dOptions(3).affine(false).track_running_stats(false)));
    EXPECT_THROW(static_cast<void>(convertSyncBatchNorm(*net, group)), DdpError);
    test::NormNet twice;
    const auto first = convertSyncBatchNorm(twice, group);
    EXPECT_THROW(static_cast<void>(convertSyncBatchNorm(twice, group)), DdpError);
  });
}

TEST(SyncBatchNorm, RefusesToBeDifferentiatedTwice) {
  const auto errors = test::runRanks(1, [](auto group) {
    test::NormNet net;
    const auto converted = convertSyncBatchNorm(net, group);
    const at::Tensor loss = net.forward(numbers({4, 4}, 1)).sum();
    static_cast<void>(torch::autograd::grad({loss}, net.parameters(), {}, true, true));
  });
  EXPECT_THAT(errors, testing::ElementsAre(testing::HasSubstr("create_graph")));
}

}  // namespace
}  // namespace lockstep::ddp
