#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/GradientTally.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"
#include "tests/support/RankRecording.h"

namespace lockstep::ddp {
namespace {

using test::Net;
using testing::ElementsAre;
using Recording = support::RankRecording;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(GradientTallyTest, MeasuresWhatIsFiniteAndCountsTheRest) {
  GradientTally tally;
  tally.add(4, at::tensor({3.0f, -4.0f}), 1);
  tally.add(5, at::tensor({kNan, 12.0f, kInfinity, -kInfinity, kNan, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}),
            1);
  tally.add(6, at::tensor({kNan}), 1);
  const auto bucket = tally.of(2);
  EXPECT_EQ(bucket.bucket, 2);
  EXPECT_EQ(bucket.norm, 13);
  EXPECT_EQ(bucket.largest, 12);
  EXPECT_EQ(bucket.nans, 3u);
  EXPECT_EQ(bucket.infinities, 2u);
  EXPECT_EQ(bucket.parameter, 5u);
}

TEST(GradientTallyTest, TakesSharesBackAndEveryRealType) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    GradientTally tally;
    tally.add(0, at::tensor({1.5, 2.0}, at::kDouble).to(type), 2);
    EXPECT_EQ(tally.of(0).norm, 5) << type;
    EXPECT_EQ(tally.of(0).largest, 4) << type;
    EXPECT_FALSE(tally.of(0).parameter.has_value());
  }
}

std::vector<trace::GradientsMessage> gradientsOf(Recording& recording) {
  std::vector<trace::GradientsMessage> found;
  for (trace::Message& message : recording.messages()) {
    if (auto* gradients = std::get_if<trace::GradientsMessage>(&message)) {
      found.push_back(std::move(*gradients));
    }
  }
  return found;
}

double normOf(const trace::GradientsMessage& message) {
  double squares = 0;
  for (const auto& bucket : message.buckets) {
    squares += bucket.norm * bucket.norm;
  }
  return std::sqrt(squares);
}

class GradientCheckTest : public testing::TestWithParam<bool> {};

TEST_P(GradientCheckTest, TellsEachRanksOwnGradientsAndNotTheirAverage) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    DdpOptions options = test::withCaps(40, 100, GetParam());
    options.tracer = &recording.tracer();
    options.gradientCheckEvery = 2;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
    auto alone = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
    DistributedDataParallel ddp(net, group, options);
    const at::Tensor input = at::full({2, 4}, 0.5 + group->rank());
    alone->forward(input).sum().backward();
    double squares = 0;
    for (const at::Tensor& gradient : test::gradients(*alone)) {
      squares += gradient.square().sum().template item<double>();
    }
    for (std::uint32_t step = 0; step < 5; ++step) {
      ddp.setStep(step);
      for (auto& parameter : net->parameters()) {
        if (parameter.grad().defined()) {
          at::NoGradGuard noGrad;
          parameter.mutable_grad().zero_();
        }
      }
      ddp.forward<Net>(input).sum().backward();
    }
    const auto messages = gradientsOf(recording);
    ASSERT_EQ(messages.size(), 3u) << "steps 0, 2 and 4";
    EXPECT_EQ(messages[1].step, 2u);
    EXPECT_EQ(messages[1].buckets.size(), ddp.plan().buckets.size());
    for (const auto& message : messages) {
      EXPECT_NEAR(normOf(message), std::sqrt(squares), 1e-5);
    }
  });
}

TEST_P(GradientCheckTest, TellsWhatBecameOfEachBucketTheSameOnAllRanks) {
  std::array<std::vector<trace::GradientsMessage>, 2> told;
  test::runRanksWell(2, [&](auto group) {
    Recording recording;
    DdpOptions options = test::withCaps(40, 100, GetParam());
    options.tracer = &recording.tracer();
    options.gradientCheckEvery = 1;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
    DistributedDataParallel ddp(net, group, options);
    // The second step has the buckets of the rebuild, which are two.
    for (std::uint32_t step = 0; step < 2; ++step) {
      ddp.setStep(step);
      ddp.forward<Net>(at::full({2, 4}, 0.5 + group->rank())).sum().backward();
    }
    double squares = 0;
    for (const at::Tensor& gradient : test::gradients(*net)) {
      squares += gradient.square().sum().template item<double>();
    }
    auto& own = told[static_cast<std::size_t>(group->rank())];
    own = gradientsOf(recording);
    double reduced = 0;
    for (const auto& bucket : own.at(1).buckets) {
      reduced += bucket.reduced->norm * bucket.reduced->norm;
    }
    EXPECT_NEAR(std::sqrt(reduced), std::sqrt(squares), 1e-5) << "the averaged gradients'";
  });
  ASSERT_EQ(told[0].at(1).buckets.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(told[0][1].buckets[i].reduced->hash);
    EXPECT_EQ(told[0][1].buckets[i].reduced, told[1].at(1).buckets[i].reduced);
    EXPECT_NE(told[0][1].buckets[i].norm, told[1][1].buckets[i].norm);
  }
}

INSTANTIATE_TEST_SUITE_P(Views, GradientCheckTest, testing::Bool(), [](const auto& view) {
  return view.param ? "GradientsAreViews" : "GradientsAreCopied";
});

TEST(GradientChecksTest, FindsTheRankWhoseGradientsHoldANanBeforeAllDo) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    DdpOptions options = test::withCaps(40, 100);
    options.tracer = &recording.tracer();
    options.gradientCheckEvery = 1;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
    DistributedDataParallel ddp(net, group, options);
    net->parameters()[1].register_hook([&](const at::Tensor& gradient) {
      at::Tensor changed = gradient.clone();
      if (group->rank() == 1) {
        changed[0] = kNan;
      }
      return changed;
    });
    ddp.forward<Net>(at::ones({2, 4})).sum().backward();
    EXPECT_TRUE(net->parameters()[1].grad()[0].isnan().template item<bool>()) << "on both ranks";
    const auto messages = gradientsOf(recording);
    ASSERT_EQ(messages.size(), 1u);
    std::uint64_t nans = 0;
    for (const auto& bucket : messages[0].buckets) {
      nans += bucket.nans;
      if (bucket.nans > 0) {
        EXPECT_EQ(bucket.parameter, 1u);
      }
    }
    EXPECT_EQ(nans, group->rank() == 1 ? 1u : 0u);
  });
}

TEST(GradientChecksTest, AreMadeInTheNextStepThatReducesWhereTheOneThatIsDueDoesNot) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    DdpOptions options = test::withCaps(40, 100);
    options.tracer = &recording.tracer();
    options.gradientCheckEvery = 10;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group, options);
    for (const std::uint32_t step : {3, 7, 11, 15, 19, 23}) {  // as with ddp.sync_every = 4
      ddp.setStep(step);
      ddp.forward<Net>(at::ones({2, 4})).sum().backward();
    }
    const auto messages = gradientsOf(recording);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[0].step, 11u);
    EXPECT_EQ(messages[1].step, 23u);
  });
}

/// What the messages of a rank's `steps` steps say; `step` runs one of them.
std::vector<trace::GradientsMessage> checked(
    const std::shared_ptr<torch::nn::Module>& net,
    const std::shared_ptr<process_group::ProcessGroup>& group, DdpOptions options, int steps,
    const std::function<void(DistributedDataParallel& ddp, int step)>& step) {
  Recording recording;
  options.tracer = &recording.tracer();
  options.gradientCheckEvery = 1;
  DistributedDataParallel ddp(net, group, std::move(options));
  for (int i = 0; i < steps; ++i) {
    ddp.setStep(static_cast<std::uint32_t>(i));
    step(ddp, i);
    ddp.checkFinalized();
  }
  return gradientsOf(recording);
}

double normAlone(Net& net, const at::Tensor& input) {
  test::clearGradients(net);
  net.forward(input).sum().backward();
  double squares = 0;
  for (const at::Tensor& gradient : test::gradients(net)) {
    squares += gradient.square().sum().item<double>();
  }
  return std::sqrt(squares);
}

/// Of three steps on one input.
std::vector<trace::GradientsMessage> checkedThrice(
    const std::shared_ptr<process_group::ProcessGroup>& group, const DdpOptions& options,
    const at::Tensor& input) {
  auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
  return checked(net, group, options, 3, [&](DistributedDataParallel& ddp, int) {
    test::clearGradients(*net);
    ddp.forward<Net>(input).sum().backward();
  });
}

// The bias of the right head, alone in the first bucket, has a gradient and takes part in nothing.
TEST(GradientChecksTest, TakeAGradientThatIsNotSentAsItIs) {
  for (const bool batched : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      DdpOptions options = test::withCaps(1, 1, true);
      options.findUnusedParameters = true;
      options.skipAllReduceUnusedParams = true;
      options.batchedGradCopy = batched;
      auto net = std::make_shared<test::TwoHeads>();
      net->right->bias.mutable_grad() = at::full({2}, 2.0);
      const auto messages = checked(net, group, options, 2, [&](auto& ddp, int) {
        ddp.run([&] { return net->left->forward(at::ones({1, 4})); }).sum().backward();
      });
      ASSERT_EQ(messages.size(), 2u);
      EXPECT_EQ(messages[0].buckets.front().largest, 2) << "batched: " << batched;
      EXPECT_EQ(messages[1].buckets.front().largest, 2) << "batched: " << batched;
    });
  }
}

struct Table : torch::nn::Module {
  Table()
      : rows(register_module(
            "rows", torch::nn::Embedding(torch::nn::EmbeddingOptions(6, 3).sparse(true)))) {
    test::fill(*this, 1);
  }
  at::Tensor forward(const at::Tensor& words) { return rows->forward(words); }
  torch::nn::Embedding rows;
};

// Of the sum of rows 2, 2 and 5 the gradient is 2 in each of the three places of row 2 and 1 in
// those of row 5: 3 * 4 + 3 * 1 = 15. Of row 1 alone it is one number, a 1, expanded to three.
TEST(GradientChecksTest, AddUpTheRowsOfASparseGradient) {
  test::runRanksWell(2, [](auto group) {
    const auto messages = checked(std::make_shared<Table>(), group, {}, 1, [&](auto& ddp, int) {
      const std::vector<std::int64_t> words =
          group->rank() == 0 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{2, 2, 5};
      ddp.template forward<Table>(at::tensor(words)).sum().backward();
    });
    ASSERT_EQ(messages.size(), 1u);
    ASSERT_EQ(messages[0].buckets.size(), 1u);
    EXPECT_NEAR(messages[0].buckets[0].norm, std::sqrt(group->rank() == 0 ? 3.0 : 15.0), 1e-6);
    EXPECT_EQ(messages[0].buckets[0].largest, group->rank() == 0 ? 1 : 2);
  });
}

TEST(GradientChecksTest, TellOfDelayedParametersApart) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options = test::withCaps(40, 100);
    options.delayAllReduceNamedParams = {"fc1.bias", "fc1.weight"};
    options.paramToHookAllReduce = "fc0.weight";
    const at::Tensor input = at::full({2, 4}, 0.5 + group->rank());
    const auto messages = checkedThrice(group, options, input);
    Net alone(std::vector<std::int64_t>{4, 6, 2});
    const double whole = normAlone(alone, input);
    const double delayed = std::sqrt(alone.layers[1]->weight.grad().square().sum().item<double>() +
                                     alone.layers[1]->bias.grad().square().sum().item<double>());
    ASSERT_EQ(messages.size(), 3u);
    for (const auto& message : messages) {
      EXPECT_NEAR(normOf(message), whole, 1e-5);
      ASSERT_EQ(message.buckets.back().bucket, trace::kNoBucket);
      EXPECT_NEAR(message.buckets.back().norm, delayed, 1e-5);
      EXPECT_NE(message.buckets.front().bucket, trace::kNoBucket);
    }
  });
}

TEST(GradientChecksTest, AreMadeOfTheFirstStepOfAStaticGraphAsOfTheOthers) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options = test::withCaps(40, 100);
    options.staticGraph = true;
    const at::Tensor input = at::full({2, 4}, 0.5 + group->rank());
    const auto messages = checkedThrice(group, options, input);
    Net alone(std::vector<std::int64_t>{4, 6, 2});
    const double whole = normAlone(alone, input);
    ASSERT_EQ(messages.size(), 3u);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      EXPECT_EQ(messages[i].step, i);
      EXPECT_NEAR(normOf(messages[i]), whole, 1e-5) << "step " << i;
    }
  });
}

// Steps 0 and 1 accumulate, step 2 reduces: its gradients are those of three backwards.
TEST(GradientChecksTest, AreMadeOfWhatWasAccumulatedUnderNoSync) {
  for (const bool view : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      const at::Tensor input = at::full({2, 4}, 0.5 + group->rank());
      auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
      const auto messages =
          checked(net, group, test::withCaps(40, 100, view), 3, [&](auto& ddp, int step) {
            std::optional<DistributedDataParallel::NoSync> noSync;
            if (step < 2) {
              noSync.emplace(ddp);
            }
            ddp.template forward<Net>(input).sum().backward();
          });
      Net alone(std::vector<std::int64_t>{4, 6, 2});
      ASSERT_EQ(messages.size(), 1u);
      EXPECT_EQ(messages[0].step, 2u);
      EXPECT_NEAR(normOf(messages[0]), 3 * normAlone(alone, input), 1e-4);
    });
  }
}

TEST(GradientChecksTest, SaysNothingWithoutACapture) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    recording.segment().header().captureEnabled.store(0);
    DdpOptions options;
    options.tracer = &recording.tracer();
    options.gradientCheckEvery = 1;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group, options);
    ddp.forward<Net>(at::ones({2, 4})).sum().backward();
    EXPECT_TRUE(gradientsOf(recording).empty());
  });
}

}  // namespace
}  // namespace lockstep::ddp
