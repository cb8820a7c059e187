#include "engine/optim/ParameterOptimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>

namespace lockstep::optim {
namespace {

using experiment::OptimizerConfig;

const std::vector<std::vector<std::int64_t>> kShapes{{4, 3}, {7}, {2, 3, 4, 4}, {}};

at::Tensor numbers(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return at::rand(shape, generator, at::TensorOptions()).sub_(0.5);
}

std::vector<at::Tensor> parameters(c10::ScalarType dtype = at::kFloat) {
  std::vector<at::Tensor> list;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    list.push_back(numbers(kShapes[i], i + 1).to(dtype).requires_grad_());
  }
  return list;
}

at::Tensor gradient(std::size_t index, int step, c10::ScalarType dtype = at::kFloat) {
  return numbers(kShapes[index], 100 * static_cast<std::uint64_t>(step) + index).to(dtype);
}

OptimizerConfig sgd(double momentum, double dampening, bool nesterov, double decay) {
  OptimizerConfig config;
  config.kind = "sgd";
  config.momentum = momentum;
  config.dampening = dampening;
  config.nesterov = nesterov;
  config.weightDecay = decay;
  return config;
}

OptimizerConfig adam(const std::string& kind, double decay) {
  OptimizerConfig config;
  config.kind = kind;
  config.learningRate = 0.01;
  config.weightDecay = decay;
  return config;
}

template <typename Options>
Options adamOptions(const OptimizerConfig& config) {
  return Options(config.learningRate)
      .betas({config.beta1, config.beta2})
      .eps(config.epsilon)
      .weight_decay(config.weightDecay);
}

std::unique_ptr<torch::optim::Optimizer> oracle(const OptimizerConfig& config,
                                                std::vector<at::Tensor> list) {
  if (config.kind == "sgd") {
    return std::make_unique<torch::optim::SGD>(std::move(list),
                                               torch::optim::SGDOptions(config.learningRate)
                                                   .momentum(config.momentum)
                                                   .dampening(config.dampening)
                                                   .nesterov(config.nesterov)
                                                   .weight_decay(config.weightDecay));
  }
  if (config.kind == "adam") {
    return std::make_unique<torch::optim::Adam>(std::move(list),
                                                adamOptions<torch::optim::AdamOptions>(config));
  }
  return std::make_unique<torch::optim::AdamW>(std::move(list),
                                               adamOptions<torch::optim::AdamWOptions>(config));
}

struct Kinds : testing::TestWithParam<std::tuple<OptimizerConfig, c10::ScalarType>> {};

TEST_P(Kinds, StepAsTorchOptimToTheBit) {
  const auto& [config, dtype] = GetParam();
  auto theirs = parameters(dtype);
  const auto expected = oracle(config, theirs);
  auto made = ParameterOptimizer::make(config, parameters(dtype));
  ASSERT_TRUE(made.ok()) << made.error().message();
  ParameterOptimizer& own = *made.value();
  for (int step = 1; step <= 20; ++step) {
    std::vector<at::Tensor> gradients;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      theirs[i].mutable_grad() = gradient(i, step, dtype);
    }
    expected->step();
    for (std::size_t i = theirs.size(); i-- > 0;) {  // the order must not matter
      const at::Tensor given = gradient(i, step, dtype);
      own.step(i, given);
      EXPECT_TRUE(at::equal(given, gradient(i, step, dtype))) << "the gradient was changed";
    }
    if (step == 10) {
      own.setLearningRate(0.003);
      for (auto& group : expected->param_groups()) {
        group.options().set_lr(0.003);
      }
    }
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    EXPECT_TRUE(at::equal(own.parameters()[i], theirs[i])) << "parameter " << i;
  }
}

TEST_P(Kinds, GoOnFromAnExportedState) {
  const auto& [config, dtype] = GetParam();
  auto first = ParameterOptimizer::make(config, parameters(dtype)).value();
  const auto steps = [&, dtype = dtype](ParameterOptimizer& optimizer, int from, int to) {
    for (int step = from; step < to; ++step) {
      std::vector<std::uint32_t> indices;
      std::vector<at::Tensor> gradients;
      for (std::size_t i = 0; i < kShapes.size(); ++i) {
        indices.push_back(static_cast<std::uint32_t>(i));
        gradients.push_back(gradient(i, step, dtype));
      }
      optimizer.stepBucket(indices, gradients);
    }
  };
  steps(*first, 1, 4);
  std::vector<at::Tensor> weights;
  for (const at::Tensor& parameter : first->parameters()) {
    weights.push_back(parameter.detach().clone().requires_grad_());
  }
  auto second = ParameterOptimizer::make(config, weights).value();
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    ASSERT_TRUE(second->setState(i, first->state(i)).ok());
  }
  EXPECT_EQ(second->stateBytes(), first->stateBytes());
  steps(*first, 4, 8);
  steps(*second, 4, 8);
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    EXPECT_TRUE(at::equal(first->parameters()[i], second->parameters()[i])) << "parameter " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    ParameterOptimizer, Kinds,
    testing::Combine(testing::Values(sgd(0, 0, false, 0), sgd(0, 0, false, 0.1),
                                     sgd(0.9, 0, false, 0), sgd(0.9, 0.3, false, 0.01),
                                     sgd(0.9, 0, true, 0.01), adam("adam", 0), adam("adam", 0.1),
                                     adam("adamw", 0), adam("adamw", 0.1)),
                     testing::Values(at::kFloat, at::kDouble)));

TEST(ParameterOptimizer, StepsDifferentParametersOnDifferentThreads) {
  const auto config = adam("adam", 0.1);
  auto alone = ParameterOptimizer::make(config, parameters()).value();
  auto shared = ParameterOptimizer::make(config, parameters()).value();
  const auto steps = [](ParameterOptimizer& optimizer, std::size_t index) {
    for (int step = 1; step < 20; ++step) {
      optimizer.step(index, gradient(index, step));
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    steps(*alone, i);
    threads.emplace_back([&, i] { steps(*shared, i); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    EXPECT_TRUE(at::equal(alone->parameters()[i], shared->parameters()[i]));
  }
}

TEST(ParameterOptimizer, KeepsNothingBeforeTheFirstStepNorForPlainSgd) {
  auto plain = ParameterOptimizer::make(sgd(0, 0, false, 0), parameters()).value();
  plain->step(0, gradient(0, 1));
  EXPECT_EQ(plain->stateBytes(), 0u);
  auto moments = ParameterOptimizer::make(adam("adam", 0), parameters()).value();
  EXPECT_TRUE(moments->state(0).empty());
  moments->step(0, gradient(0, 1));
  EXPECT_EQ(moments->stateBytes(), 2 * 12 * sizeof(float) + sizeof(std::int64_t));
  ASSERT_TRUE(moments->setState(0, {}).ok());
  EXPECT_EQ(moments->stateBytes(), 0u);
}

TEST(ParameterOptimizer, NoticesAGraphThatStillNeedsTheParameter) {
  auto list = parameters();
  auto own = ParameterOptimizer::make(sgd(0, 0, false, 0), list).value();
  const at::Tensor square = list[1].square().sum();
  own->step(1, gradient(1, 1));
  EXPECT_THROW(square.backward(), c10::Error);
}

TEST(ParameterOptimizer, NamesSettingsThatDoNotGoTogether) {
  const auto refusal = [](const OptimizerConfig& config) {
    const auto made = ParameterOptimizer::make(config, parameters());
    return made.ok() ? std::string("accepted") : made.error().message();
  };
  EXPECT_THAT(refusal(sgd(0, 0, true, 0)), testing::HasSubstr("optimizer.nesterov: needs a momen"));
  EXPECT_THAT(refusal(sgd(-1, 0, false, 0)), testing::HasSubstr("optimizer.momentum: is -1"));
  EXPECT_THAT(refusal(adam("adagrad", 0)), testing::HasSubstr("optimizer.kind: is 'adagrad'"));
  auto config = adam("adam", 0);
  config.beta2 = 1;
  EXPECT_THAT(refusal(config), testing::HasSubstr("optimizer.beta2: is 1"));
}

TEST(ParameterOptimizer, NamesAStateThatDoesNotFit) {
  auto own = ParameterOptimizer::make(adam("adam", 0), parameters()).value();
  const auto refusal = [&](std::size_t index, ParameterState state) {
    const auto status = own->setState(index, state);
    return status.ok() ? std::string("accepted") : status.error().message();
  };
  const at::Tensor step = at::scalar_tensor(3, at::kLong);
  EXPECT_THAT(refusal(1, {{"exp_avg", at::zeros({7})}, {"step", step}}),
              testing::HasSubstr("parameter 1: lacks 'exp_avg_sq'"));
  EXPECT_THAT(
      refusal(1, {{"exp_avg", at::zeros({7})}, {"exp_avg_sq", at::zeros({8})}, {"step", step}}),
      testing::HasSubstr("'exp_avg_sq' has shape [8]; the parameter has [7]"));
  EXPECT_THAT(refusal(1, {{"exp_avg", at::zeros({7})},
                          {"exp_avg_sq", at::zeros({7})},
                          {"extra", at::zeros({7})},
                          {"step", step}}),
              testing::HasSubstr("has 4 parts; adam keeps 3"));
  EXPECT_THAT(refusal(9, {}), testing::HasSubstr("there are 4 parameters"));
}

}  // namespace
}  // namespace lockstep::optim
