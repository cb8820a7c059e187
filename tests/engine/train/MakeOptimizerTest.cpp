#include "engine/train/MakeOptimizer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include "tests/engine/train/Python.h"

namespace lockstep::train {
namespace {

/// Three steps on x with the gradient x: what is left of x.
double threeSteps(const experiment::OptimizerConfig& config) {
  at::Tensor x = at::full({1}, 2.0).requires_grad_(true);
  auto optimizer = makeOptimizer(config, {x});
  EXPECT_TRUE(optimizer.ok()) << optimizer.error().message();
  for (int i = 0; i < 3; ++i) {
    x.mutable_grad() = x.detach().clone();
    optimizer.value()->step();
  }
  return x.item<double>();
}

TEST(MakeOptimizer, StepsAsPyTorchDoes) {
  const auto expected = runPython(R"(
import json, torch
def steps(kind, **options):
  x = torch.full([1], 2.0, requires_grad=True)
  o = kind([x], **options)
  for i in range(3):
    x.grad = x.detach().clone()
    o.step()
  return x.item()
o = torch.optim
print(json.dumps([
  steps(o.SGD, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
  steps(o.SGD, lr=0.1, momentum=0.5, dampening=0.2),
  steps(o.SGD, lr=0.1),
  steps(o.Adam, lr=0.1, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.01),
  steps(o.AdamW, lr=0.1, weight_decay=0.05)]))
)");
  experiment::OptimizerConfig nesterov;
  nesterov.learningRate = 0.1;
  nesterov.weightDecay = 0.01;
  nesterov.nesterov = true;
  experiment::OptimizerConfig damped;
  damped.learningRate = 0.1;
  damped.momentum = 0.5;
  damped.dampening = 0.2;
  experiment::OptimizerConfig plain;
  plain.learningRate = 0.1;
  plain.momentum = 0;
  experiment::OptimizerConfig adam;
  adam.kind = "adam";
  adam.learningRate = 0.1;
  adam.beta1 = 0.8;
  adam.beta2 = 0.99;
  adam.epsilon = 1e-6;
  adam.weightDecay = 0.01;
  experiment::OptimizerConfig adamw;
  adamw.kind = "adamw";
  adamw.learningRate = 0.1;
  adamw.weightDecay = 0.05;
  const std::vector<experiment::OptimizerConfig> configs{nesterov, damped, plain, adam, adamw};
  for (std::size_t i = 0; i < configs.size(); ++i) {
    EXPECT_NEAR(threeSteps(configs[i]), expected[i].get<double>(), 1e-6) << "case " << i;
  }
}

TEST(MakeOptimizer, SaysWhichSettingsDoNotGoTogether) {
  experiment::OptimizerConfig config;
  config.nesterov = true;
  config.momentum = 0;
  const auto optimizer = makeOptimizer(config, {at::ones({1}).requires_grad_(true)});
  ASSERT_FALSE(optimizer.ok());
  EXPECT_EQ(optimizer.error().code, base::ExitCode::kBadInput);
  EXPECT_THAT(optimizer.error().message(), testing::HasSubstr("optimizer: Nesterov momentum"));
}

}  // namespace
}  // namespace lockstep::train
