#include "engine/hooks/ThenOptimizerHook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <chrono>

namespace lockstep::hooks {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kLimit{20};

/// Returns futures that the test completes.
class PromisedHook final : public CommHook {
 public:
  [[nodiscard]] std::string name() const override { return "promised"; }
  base::Future<at::Tensor> run(GradBucket&) override { return promises.emplace_back(); }
  std::vector<base::Future<at::Tensor>> promises;
};

/// Two parameters, four and two numbers, each in a bucket of its own.
struct TwoBuckets {
  std::vector<at::Tensor> parameters{at::ones({2, 2}).requires_grad_(),
                                     at::ones({2}).requires_grad_()};
  std::shared_ptr<PromisedHook> inner = std::make_shared<PromisedHook>();
  std::shared_ptr<optim::ParameterOptimizer> optimizer = [this] {
    experiment::OptimizerConfig config;
    config.learningRate = 0.5;
    config.momentum = 0;
    return optim::ParameterOptimizer::make(config, parameters).value();
  }();

  [[nodiscard]] GradBucket bucket(std::uint32_t index) const {
    const at::Tensor& parameter = parameters[index];
    return {index,
            2,
            0,
            at::zeros({parameter.numel()}),
            {0},
            {parameter.numel()},
            {parameter.sizes().vec()},
            {parameter},
            {index}};
  }
};

std::string errorOf(const base::Future<at::Tensor>& future) {
  if (!future.waitFor(kLimit)) {
    return "never completed";
  }
  try {
    static_cast<void>(future.value());
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(ThenOptimizerHook, StepsEachBucketWhenItIsReducedAndNotBefore) {
  TwoBuckets two;
  ThenOptimizerHook hook(two.inner, two.optimizer, nullptr);
  GradBucket first = two.bucket(0);
  GradBucket second = two.bucket(1);
  const auto firstDone = hook.run(first);
  const auto secondDone = hook.run(second);
  EXPECT_FALSE(firstDone.completed());
  two.inner->promises[1].setValue(at::full({2}, 4.0));
  EXPECT_EQ(errorOf(secondDone), "");
  EXPECT_TRUE(at::equal(two.parameters[1], at::full({2}, -1.0)));
  EXPECT_TRUE(at::equal(two.parameters[0], at::ones({2, 2})));
  two.inner->promises[0].setValue(at::arange(4, at::kFloat));
  EXPECT_EQ(errorOf(firstDone), "");
  EXPECT_TRUE(at::equal(two.parameters[0], 1 - at::arange(4, at::kFloat).view({2, 2}) / 2));
  EXPECT_TRUE(at::equal(firstDone.value(), at::arange(4, at::kFloat))) << "the gradient is kept";
}

TEST(ThenOptimizerHook, PassesAFailedReductionOnWithoutAStep) {
  TwoBuckets two;
  ThenOptimizerHook hook(two.inner, two.optimizer, nullptr);
  GradBucket bucket = two.bucket(0);
  const auto done = hook.run(bucket);
  two.inner->promises[0].setException(std::make_exception_ptr(std::runtime_error("cable cut")));
  EXPECT_EQ(errorOf(done), "cable cut");
  EXPECT_TRUE(at::equal(two.parameters[0], at::ones({2, 2})));
}

TEST(ThenOptimizerHook, RefusesAResultThatDoesNotFitTheBucket) {
  TwoBuckets two;
  ThenOptimizerHook hook(two.inner, two.optimizer, nullptr);
  GradBucket bucket = two.bucket(0);
  const auto done = hook.run(bucket);
  two.inner->promises[0].setValue(at::ones({3}));
  EXPECT_THAT(errorOf(done), HasSubstr("returned Float [3]; the optimizer steps"));
}

TEST(ThenOptimizerHook, RefusesAnOptimizerOfOtherParameters) {
  TwoBuckets two;
  TwoBuckets other;
  ThenOptimizerHook hook(two.inner, other.optimizer, nullptr);
  GradBucket bucket = two.bucket(1);
  EXPECT_THROW(static_cast<void>(hook.run(bucket)), std::invalid_argument);
}

TEST(ThenOptimizerHook, FailsTheStepsThatComeAfterItsEnd) {
  TwoBuckets two;
  base::Future<at::Tensor> done;
  {
    ThenOptimizerHook hook(two.inner, two.optimizer, nullptr);
    GradBucket bucket = two.bucket(0);
    done = hook.run(bucket);
  }
  two.inner->promises[0].setValue(at::ones({4}));
  EXPECT_THAT(errorOf(done), HasSubstr("destroyed before the optimizer stepped"));
  EXPECT_TRUE(at::equal(two.parameters[0], at::ones({2, 2})));
}

TEST(ThenOptimizerHook, IsNamedAfterTheHookItWraps) {
  TwoBuckets two;
  ThenOptimizerHook hook(two.inner, two.optimizer, nullptr);
  EXPECT_EQ(hook.name(), "promised then optimizer");
  EXPECT_FALSE(hook.takesShares());
}

}  // namespace
}  // namespace lockstep::hooks
