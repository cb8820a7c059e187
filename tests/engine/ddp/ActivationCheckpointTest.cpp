#include "engine/ddp/ActivationCheckpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/TorchCompat.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using test::Net;
using test::numbers;

const std::vector<std::int64_t> kNetSizes{4, 6, 5, 3};

enum class Way { kPlain, kReentrant, kNonReentrant };

std::vector<at::Tensor> checkpointed(Way way, Segment segment, std::vector<at::Tensor> inputs,
                                     std::vector<at::Tensor> parameters) {
  switch (way) {
    case Way::kReentrant:
      return checkpointReentrant(std::move(segment), std::move(inputs));
    case Way::kNonReentrant:
      return checkpointNonReentrant(std::move(segment), std::move(inputs), std::move(parameters));
    case Way::kPlain:
      break;
  }
  return segment(inputs);
}

struct Outcome {
  at::Tensor output;
  at::Tensor toInput;
  std::vector<at::Tensor> toParameters;
};

/// Two outputs of two inputs, one of which is no floating tensor; with dropout when training.
Outcome outcome(Way way) {
  Net net(kNetSizes);
  at::manual_seed(11);
  const at::Tensor input = numbers({8, 4}, 3).requires_grad_();
  const at::Tensor rows = at::arange(8).flip(0);
  const Segment segment = [&net](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
    const at::Tensor hidden = at::dropout(net.forward(in[0]), 0.5, true);
    return {hidden.index_select(0, in[1]), hidden.square()};
  };
  const auto outputs = checkpointed(way, segment, {input, rows}, net.parameters());
  const at::Tensor weights = numbers({8, 3}, 5);
  (outputs[0] * weights + outputs[1]).sum().backward();
  return {(outputs[0] + outputs[1]).detach(), input.grad(), test::gradients(net)};
}

struct Ways : testing::TestWithParam<Way> {};

TEST_P(Ways, GiveTheGradientsOfThePlainModel) {
  const Outcome plain = outcome(Way::kPlain);
  const Outcome own = outcome(GetParam());
  EXPECT_TRUE(at::equal(own.output, plain.output));
  EXPECT_TRUE(at::equal(own.toInput, plain.toInput));
  EXPECT_TRUE(test::equal(own.toParameters, plain.toParameters));
}

TEST_P(Ways, LeaveTheRandomNumbersAfterTheBackwardAsPlain) {
  const auto next = [](Way way) {
    static_cast<void>(outcome(way));
    return at::rand({3});
  };
  EXPECT_TRUE(at::equal(next(GetParam()), next(Way::kPlain)));
}

TEST_P(Ways, ComputeTheSegmentAgainInTheBackward) {
  Net net(kNetSizes);
  int calls = 0;
  const Segment segment = [&](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
    ++calls;
    return {net.forward(in[0])};
  };
  const auto output =
      checkpointed(GetParam(), segment, {numbers({2, 4}, 1).requires_grad_()}, net.parameters());
  EXPECT_EQ(calls, 1);
  output[0].sum().backward();
  EXPECT_EQ(calls, 2);
  at::NoGradGuard noGrad;
  static_cast<void>(checkpointed(GetParam(), segment, {numbers({2, 4}, 1)}, net.parameters()));
  EXPECT_EQ(calls, 3);
}

TEST_P(Ways, RefuseToBeDifferentiatedTwice) {
  const at::Tensor input = numbers({2}, 1).requires_grad_();
  const auto output = checkpointed(
      GetParam(),
      [](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> { return {in[0].pow(3)}; },
      {input}, {});
  EXPECT_THROW(torch::autograd::grad({output[0].sum()}, {input}, {}, true, true), DdpError);
}

INSTANTIATE_TEST_SUITE_P(ActivationCheckpoint, Ways,
                         testing::Values(Way::kReentrant, Way::kNonReentrant));

/// How often the first layer's weight got a gradient in one backward over two segments of it.
int gradientsOfASharedLayer(Way way) {
  Net net({4, 4});
  int count = 0;
  const auto accumulator = compat::gradientAccumulator(net.layers[0]->weight);
  const auto key = compat::addGradientHook(*accumulator, [&count](auto&&...) { ++count; });
  const Segment segment = [&net](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
    return {net.forward(in[0]).tanh()};
  };
  const auto first =
      checkpointed(way, segment, {numbers({2, 4}, 1).requires_grad_()}, net.parameters());
  checkpointed(way, segment, first, net.parameters())[0].sum().backward();
  compat::removeGradientHook(*accumulator, key);
  return count;
}

TEST(ActivationCheckpoint, GivesASharedParameterAGradientASegmentOnlyWhenReentrant) {
  EXPECT_EQ(gradientsOfASharedLayer(Way::kPlain), 1);
  EXPECT_EQ(gradientsOfASharedLayer(Way::kNonReentrant), 1);
  EXPECT_EQ(gradientsOfASharedLayer(Way::kReentrant), 2);
}

TEST(ActivationCheckpoint, NeedsAnInputWithAGradientOnlyWhenReentrant) {
  Net net(kNetSizes);
  const Segment segment = [&net](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
    return {net.forward(in[0])};
  };
  EXPECT_THROW(static_cast<void>(checkpointReentrant(segment, {numbers({2, 4}, 1)})), DdpError);
  checkpointNonReentrant(segment, {numbers({2, 4}, 1)}, net.parameters())[0].sum().backward();
  EXPECT_TRUE(net.layers[0]->weight.grad().defined());
}

}  // namespace
}  // namespace lockstep::ddp
