#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "engine/ddp/Reducer.h"
#include "tests/engine/ddp/FunctionHook.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using test::done;
using test::FunctionHook;
using test::iterate;
using test::kSizes;
using test::Net;
using test::TwoHeads;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> oneStepWith(FunctionHook::Function function) {
  return test::runRanks(1, [&](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    ReducerOptions options;
    options.hook = std::make_shared<FunctionHook>(function);
    options.hookTimeout = std::chrono::milliseconds(100);
    Reducer reducer(ModelState::of(net).parameters, group, options);
    iterate(reducer, *net, at::ones({1, 4}));
  });
}

TEST(ReducerHooks, SeeUndividedGradientsInBucketOrderWithoutGradientMode) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    std::vector<std::size_t> seen;
    ReducerOptions options;
    options.rule = buckets::BucketRule::kC10d19;
    options.caps = {40, 40, {}};
    options.hook = std::make_shared<FunctionHook>([&](hooks::GradBucket& bucket) {
      EXPECT_FALSE(at::GradMode::is_enabled());
      EXPECT_EQ(bucket.isLast(), bucket.index() == 1);
      EXPECT_EQ(bucket.step(), 4u);
      EXPECT_TRUE(at::equal(bucket.gradients()[0], at::ones({2, 4})));
      EXPECT_TRUE(bucket.parameters()[0].is_same(bucket.index() == 0 ? net->right->weight
                                                                     : net->left->weight));
      EXPECT_THAT(bucket.parameterIndices(),
                  bucket.index() == 0 ? ElementsAre(2, 3) : ElementsAre(0, 1));
      seen.push_back(bucket.index());
      return done(bucket.buffer());
    });
    Reducer reducer(ModelState::of(net).parameters, group, options);
    reducer.setStep(4);
    reducer.beginForward();
    const auto [left, right] = net->forward(at::ones({1, 4}));
    reducer.prepareForBackward();
    (left.sum() + right.sum()).backward();
    EXPECT_THAT(seen, ElementsAre(0, 1));
  });
}

TEST(ReducerHooks, AreReducedIntoTheGradientsFromATensorOfTheirOwn) {
  for (const bool view : {false, true}) {
    test::runRanksWell(1, [&](auto group) {
      auto net = std::make_shared<TwoHeads>();
      ReducerOptions options;
      options.gradientAsBucketView = view;
      options.hook = std::make_shared<FunctionHook>(
          [](hooks::GradBucket& bucket) { return done(bucket.buffer() * 3); });
      Reducer reducer(ModelState::of(net).parameters, group, options);
      for (int i = 0; i < 3; ++i) {
        net->zero_grad();
        reducer.beginForward();
        const auto [left, right] = net->forward(at::ones({1, 4}));
        reducer.prepareForBackward();
        (left.sum() + right.sum()).backward();
        EXPECT_TRUE(at::equal(net->left->weight.grad(), at::full({2, 4}, 3.0)));
        EXPECT_TRUE(at::equal(net->right->bias.grad(), at::full({2}, 3.0)));
      }
    });
  }
}

TEST(ReducerHooks, ThatTakeSharesAreHandedGradientsDividedByTheWorldSize) {
  test::runRanksWell(2, [](auto group) {
    for (const bool shares : {false, true}) {
      auto net = std::make_shared<Net>(kSizes);
      ReducerOptions options;
      options.caps = {40, 100, {}};
      std::vector<at::Tensor> handed;
      options.hook = std::make_shared<FunctionHook>(
          [&](hooks::GradBucket& bucket) {
            handed.push_back(bucket.buffer().clone());
            return done(bucket.buffer().zero_());
          },
          shares);
      Reducer reducer(ModelState::of(net).parameters, group, options);
      auto alone = std::make_shared<Net>(kSizes);
      iterate(reducer, *net, at::ones({2, 4}));
      alone->forward(at::ones({2, 4})).sum().backward();
      at::Tensor sum = at::zeros({});
      for (const at::Tensor& buffer : handed) {
        sum += buffer.sum();
      }
      at::Tensor expected = at::zeros({});
      for (const at::Tensor& gradient : test::gradients(*alone)) {
        expected += gradient.sum();
      }
      EXPECT_NEAR(sum.item<double>(), expected.item<double>() / (shares ? 2 : 1), 1e-4);
    }
  });
}

TEST(ReducerHooks, AreRefusedAResultOfAnotherShapeOrDtype) {
  EXPECT_THAT(oneStepWith([](auto& bucket) { return done(bucket.buffer().narrow(0, 0, 5)); }),
              Each(HasSubstr("hook 'mine', rank 0: bucket 0 of step 0: returned float32 [5] on cpu; a "
                             "result must be as the bucket, float32 [77] on cpu")));
  EXPECT_THAT(oneStepWith([](auto& bucket) { return done(bucket.buffer().to(at::kDouble)); }),
              Each(HasSubstr("returned float64 [77]")));
  EXPECT_THAT(oneStepWith([](auto&) { return done(at::Tensor()); }),
              Each(HasSubstr("returned an undefined tensor")));
}

TEST(ReducerHooks, AreNamedWhenTheyThrowOrFailLater) {
  EXPECT_THAT(oneStepWith([](auto&) -> base::Future<at::Tensor> {
                throw std::runtime_error("no memory left");
              }),
              Each(HasSubstr("hook 'mine', rank 0: bucket 0 of step 0: no memory left")));
  EXPECT_THAT(oneStepWith([](auto&) {
                base::Future<at::Tensor> future;
                future.setException(std::make_exception_ptr(std::runtime_error("too late")));
                return future;
              }),
              Each(HasSubstr("hook 'mine', rank 0: bucket 0 of step 0: too late")));
}

TEST(ReducerHooks, AreNamedWhenTheirResultNeverComes) {
  EXPECT_THAT(oneStepWith([](auto&) { return base::Future<at::Tensor>(); }),
              Each(HasSubstr("hook 'mine', rank 0: bucket 0 of step 0: gave no result within 100 ms")));
}

}  // namespace
}  // namespace lockstep::ddp
