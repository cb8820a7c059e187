#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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
