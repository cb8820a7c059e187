#include "engine/ddp/Reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/PlanAgreement.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using test::iterate;
using test::kSizes;
using test::Net;
using test::TwoHeads;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using Lists = std::vector<std::vector<std::uint32_t>>;

ReducerOptions smallBuckets() {
  ReducerOptions options;
  options.caps = {40, 100, {}};
  return options;
}

TEST(Reducer, RebuildsOnceInTheOrderInWhichGradientsBecameReady) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    Reducer reducer(ModelState::of(net).parameters, group, smallBuckets());
    EXPECT_EQ(reducer.plan().indices(), (Lists{{0, 1, 2, 3, 4, 5}}));
    const auto input = at::ones({2, 4});
    iterate(reducer, *net, input);
    EXPECT_FALSE(reducer.hasRebuiltBuckets());
    iterate(reducer, *net, input);
    EXPECT_TRUE(reducer.hasRebuiltBuckets());
    // Linear gives its bias before its weight. 8 + 40 reach the first limit of 40, then
    // 20 + 120 and 24 + 96 the limit of 100.
    EXPECT_EQ(reducer.plan().indices(), (Lists{{5, 4}, {3, 2}, {1, 0}}));
    EXPECT_EQ(reducer.plan().buckets[0].limitBytes, 40u);
    EXPECT_EQ(reducer.plan().buckets[2].limitBytes, 100u);
    const auto calls = group->broadcasts();
    iterate(reducer, *net, input);
    EXPECT_EQ(group->broadcasts(), calls);
  });
}

TEST(Reducer, TakesTheRebuiltOrderOfRankZero) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    ReducerOptions options;
    options.caps = {1, 1, {}};  // every gradient its own bucket
    Reducer reducer(ModelState::of(net).parameters, group, options);
    const auto step = [&] {
      reducer.beginForward();
      const auto [left, right] = net->forward(at::ones({1, 4}));
      reducer.prepareForBackward();
      // Rank 0 is done with the left head first, rank 1 with the right one.
      (group->rank() == 0 ? left : right).sum().backward();
      (group->rank() == 0 ? right : left).sum().backward();
      reducer.checkFinalized();
    };
    step();
    step();
    EXPECT_EQ(reducer.plan().indices(), (Lists{{1}, {0}, {3}, {2}}));
  });
}

TEST(Reducer, RefusesAnOrderOfRankZeroWithoutSomeParameters) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               buckets::BucketPlan twice;
                               twice.buckets.resize(1);
                               twice.buckets[0].parameters = {1, 1};
                               agreeOnPlan(*group, {{4, "float32"}, {4, "float32"}}, twice, 0);
                             }),
              ElementsAre(HasSubstr("rank 0: the bucket lists from rank 0 do not hold each "
                                    "parameter once (value 1)"),
                          HasSubstr("rank 1: the bucket lists from rank 0")));
}

TEST(Reducer, LaunchesBucketsInOrderWhenALaterOneIsReadyFirst) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    ReducerOptions options;
    options.rule = buckets::BucketRule::kC10d19;
    options.caps = {40, 40, {}};  // {right}, {left}
    Reducer reducer(ModelState::of(net).parameters, group, options);
    ASSERT_EQ(reducer.plan().indices(), (Lists{{2, 3}, {0, 1}}));
    reducer.beginForward();
    const auto [left, right] = net->forward(at::ones({1, 4}));
    reducer.prepareForBackward();
    left.sum().backward();
    EXPECT_TRUE(group->reducedBuckets().empty());  // bucket 1 waits for bucket 0
    right.sum().backward();
    EXPECT_THAT(group->reducedBuckets(), ElementsAre(0, 1));
  });
}

TEST(Reducer, CompletesOneReductionFromTwoBackwardsOverDisjointHalves) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    Reducer reducer(ModelState::of(net).parameters, group, {});
    reducer.beginForward();
    const auto [left, right] = net->forward(at::ones({1, 4}) * (group->rank() + 1));
    reducer.prepareForBackward();
    left.sum().backward();
    right.sum().backward();
    reducer.checkFinalized();
    EXPECT_TRUE(at::allclose(net->left->weight.grad(), at::full({2, 4}, 1.5)));
    EXPECT_TRUE(at::allclose(net->right->bias.grad(), at::full({2}, 1.0)));
  });
}

TEST(Reducer, TakesGradientsFromSeveralAutogradThreads) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    ReducerOptions options;
    options.caps = {1, 1, {}};
    Reducer reducer(ModelState::of(net).parameters, group, options);
    for (int iteration = 0; iteration < 20; ++iteration) {
      net->zero_grad();
      reducer.beginForward();
      const auto outputs = net->forward(at::ones({1, 4}) * (group->rank() + 1));
      reducer.prepareForBackward();
      std::thread other([&] { outputs.first.sum().backward(); });
      outputs.second.sum().backward();
      other.join();
      reducer.checkFinalized();
      EXPECT_TRUE(at::allclose(net->left->weight.grad(), at::full({2, 4}, 1.5)));
      EXPECT_TRUE(at::allclose(net->right->weight.grad(), at::full({2, 4}, 1.5)));
    }
  });
}

TEST(Reducer, KeepsDtypesInBucketsOfTheirOwn) {
  struct Mixed : torch::nn::Module {
    Mixed() {
      single = register_parameter("single", at::ones({2}));
      twice = register_parameter("twice", at::ones({3}, at::kDouble));
      half = register_parameter("half", at::ones({2}, at::kBFloat16));
    }
    at::Tensor forward(const at::Tensor& x) {
      return (single * x[0]).sum() + (twice * x[0]).sum() + (half * x[0]).sum();
    }
    at::Tensor single, twice, half;
  };
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Mixed>();
    Reducer reducer(ModelState::of(net).parameters, group, {});
    EXPECT_EQ(reducer.plan().indices(), (Lists{{2}, {1}, {0}}));
    for (int i = 0; i < 2; ++i) {
      net->zero_grad();
      iterate(reducer, *net, at::full({1}, group->rank() + 1.0));
      for (const auto& parameter : net->parameters()) {
        EXPECT_EQ(parameter.grad().scalar_type(), parameter.scalar_type());
        EXPECT_TRUE(at::allclose(parameter.grad().to(at::kDouble),
                                 at::full_like(parameter, 1.5).to(at::kDouble)));
      }
    }
  });
}

TEST(Reducer, KeepsChannelsLastGradientsInTheParametersLayout) {
  test::runRanksWell(2, [](auto group) {
    for (const bool view : {false, true}) {
      torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 4, 3));
      test::fill(*conv, 1);
      conv->weight.set_data(conv->weight.contiguous(at::MemoryFormat::ChannelsLast));
      ReducerOptions options;
      options.gradientAsBucketView = view;
      Reducer reducer(ModelState::of(conv.ptr()).parameters, group, options);
      const auto input = test::numbers({1, 3, 5, 5}, 7) * (group->rank() + 1);
      iterate(reducer, *conv, input);
      torch::nn::Conv2d alone(torch::nn::Conv2dOptions(3, 4, 3));
      test::fill(*alone, 1);
      alone->forward(test::numbers({1, 3, 5, 5}, 7) * 1.5).sum().backward();
      EXPECT_EQ(conv->weight.grad().strides(), conv->weight.strides());
      EXPECT_TRUE(at::allclose(conv->weight.grad(), alone->weight.grad(), 1e-4, 1e-5));
    }
  });
}

TEST(Reducer, ZeroesTheSliceOfAnUndefinedGradientAndGivesItTheAverage) {
  // A function that gives no gradient to its second input.
  struct OnlyFirst : torch::autograd::Function<OnlyFirst> {
    static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& a,
                              const at::Tensor& b) {
      return a + b;
    }
    static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::tensor_list grads) {
      return {grads[0], at::Tensor()};
    }
  };
  test::runRanksWell(2, [](auto group) {
    auto a = at::ones({2}).requires_grad_();
    auto b = at::ones({2}).requires_grad_();
    Reducer reducer({{"a", a}, {"b", b}}, group, {});
    reducer.beginForward();
    const auto output = group->rank() == 0 ? OnlyFirst::apply(a, b) : a + b;
    reducer.prepareForBackward();
    output.sum().backward();
    reducer.checkFinalized();
    EXPECT_TRUE(at::equal(a.grad(), at::ones({2})));
    EXPECT_TRUE(at::equal(b.grad(), at::full({2}, 0.5)));
  });
}

TEST(Reducer, CopiesInBatchesWhatItCopiesOneByOne) {
  for (const bool view : {false, true}) {
    test::runRanksWell(2, [view](auto group) {
      const auto train = [&](bool batched) {
        auto net = std::make_shared<Net>(kSizes);
        test::fill(*net, 1);
        ReducerOptions options;
        options.gradientAsBucketView = view;
        options.batchedGradCopy = batched;
        options.rule = buckets::BucketRule::kC10d19;
        options.caps = {40, 40, {}};
        Reducer reducer(ModelState::of(net).parameters, group, options);
        for (int i = 0; i < 3; ++i) {  // gradients are added to from the second on
          iterate(reducer, *net,
                  test::numbers({2, 4}, static_cast<std::uint64_t>(i)) * (group->rank() + 1));
        }
        return test::gradients(*net);
      };
      EXPECT_TRUE(test::equal(train(true), train(false)));
    });
  }
}

TEST(Reducer, ZeroesTheSlicesOfUndefinedGradientsInABatch) {
  test::runRanksWell(2, [](auto group) {
    auto a = at::ones({2}).requires_grad_();
    auto b = at::ones({3}).requires_grad_();
    ReducerOptions options;
    options.batchedGradCopy = true;
    options.findUnusedParameters = true;
    Reducer reducer({{"a", a}, {"b", b}}, group, options);
    for (int i = 0; i < 2; ++i) {  // what the first iteration left in the bucket is not reduced
      a.mutable_grad().reset();
      b.mutable_grad().reset();
      reducer.beginForward();
      at::Tensor output = group->rank() == 0 ? a.sum() : a.sum() + 4 * b.sum();
      reducer.prepareForBackward({&output});
      output.backward();
      reducer.checkFinalized();
      EXPECT_TRUE(at::equal(a.grad(), at::ones({2})));
      EXPECT_TRUE(at::equal(b.grad(), at::full({3}, 2.0)));
    }
  });
}

TEST(Reducer, LetsZeroGradDetachGradientsThatAreBucketViews) {
  test::runRanksWell(1, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    ReducerOptions options;
    options.gradientAsBucketView = true;
    Reducer reducer(ModelState::of(net).parameters, group, options);
    iterate(reducer, *net, at::ones({1, 4}));
    EXPECT_NO_THROW(net->layers[0]->weight.mutable_grad().detach_());
  });
}

TEST(Reducer, IgnoresAForwardWhoseBackwardNeverRan) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    Reducer reducer(ModelState::of(net).parameters, group, {});
    reducer.beginForward();
    reducer.prepareForBackward();
    iterate(reducer, *net, at::ones({1, 4}));
    reducer.checkFinalized();
  });
}

// Errors.

TEST(ReducerErrors, NameTheParametersThatGotNoGradientRightAfterTheBackward) {
  const auto errors = test::runRanks(2, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    ReducerOptions options;
    options.rule = buckets::BucketRule::kC10d19;
    options.caps = {40, 40, {}};
    Reducer reducer(ModelState::of(net).parameters, group, options);
    reducer.setStep(7);
    reducer.beginForward();
    const auto [left, right] = net->forward(at::ones({1, 4}));
    reducer.prepareForBackward();
    left.sum().backward();
    reducer.checkFinalized();
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("the backward of step 7 gave no gradient to 2 of 4 "
                                           "parameters: 'right.weight' (2), 'right.bias' (3); "
                                           "2 of 2 buckets were not reduced"),
                                 HasSubstr("freeze (requires_grad = false) or remove those that do "
                                           "not, or turn find_unused_parameters on"))));
  EXPECT_THAT(errors[1], HasSubstr("rank 1: "));
}

TEST(ReducerErrors, ComeAtTheNextForwardWhenNobodyAskedBefore) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<TwoHeads>();
                               Reducer reducer(ModelState::of(net).parameters, group, {});
                               reducer.beginForward();
                               const auto output = net->forward(at::ones({1, 4})).second;
                               reducer.prepareForBackward();
                               output.sum().backward();
                               reducer.beginForward();
                             }),
              Each(HasSubstr("'left.weight' (0), 'left.bias' (1); 1 of 1 buckets")));
}

TEST(ReducerErrors, NameAParameterThatGotASecondGradient) {
  EXPECT_THAT(test::runRanks(1,
                             [](auto group) {
                               auto net = std::make_shared<TwoHeads>();
                               Reducer reducer(ModelState::of(net).parameters, group, {});
                               reducer.setStep(3);
                               reducer.beginForward();
                               const auto output = net->forward(at::ones({1, 4})).first.sum();
                               reducer.prepareForBackward();
                               output.backward({}, /*retain_graph=*/true);
                               output.backward();
                             }),
              Each(AllOf(HasSubstr("parameter 'left."), HasSubstr("got a second gradient"),
                         HasSubstr("step 3"))));
}

TEST(ReducerErrors, AreRepeatedByTheGradientsThatComeBehind) {
  EXPECT_THAT(
      test::runRanks(1,
                     [](auto group) {
                       auto net = std::make_shared<TwoHeads>();
                       Reducer reducer(ModelState::of(net).parameters, group, {});
                       reducer.beginForward();
                       const auto output = net->forward(at::ones({1, 4})).first.sum();
                       reducer.prepareForBackward();
                       output.backward({}, /*retain_graph=*/true);
                       EXPECT_THROW(output.backward({}, /*retain_graph=*/true), DdpError);
                       output.backward();
                     }),
      Each(AllOf(HasSubstr("rank 0: an earlier gradient of this iteration failed: rank 0: "),
                 HasSubstr("got a second gradient"))));
}

TEST(ReducerErrors, NameAParameterThatChangedItsDtypeAfterTheWrap) {
  EXPECT_THAT(
      test::runRanks(1,
                     [](auto group) {
                       auto net = std::make_shared<Net>(kSizes);
                       Reducer reducer(ModelState::of(net).parameters, group, {});
                       net->layers[1]->to(at::kDouble);
                       reducer.beginForward();
                     }),
      Each(AllOf(
          HasSubstr("parameter 'fc1.weight' (2) was float32 on cpu"),
          HasSubstr("is now float64 on cpu, so that its gradient would no longer be reduced"))));
}

TEST(ReducerErrors, RepeatTheFirstFailureAtLaterForwards) {
  EXPECT_THAT(
      test::runRanks(2,
                     [](auto group) {
                       auto net = std::make_shared<Net>(kSizes);
                       Reducer reducer(ModelState::of(net).parameters, group, {});
                       reducer.beginForward();
                       const auto output = net->forward(at::ones({1, 4}));
                       reducer.prepareForBackward();
                       if (group->rank() == 1) {
                         group->abort("rank 1 leaves");
                         return;
                       }
                       EXPECT_THROW(output.sum().backward(), process_group::CommError);
                       reducer.beginForward();
                     }),
      ElementsAre(AllOf(HasSubstr("an earlier backward failed"), HasSubstr("bucket 0")), ""));
}

TEST(ReducerErrors, NameASparseOrRepeatedOrDetachedParameter) {
  const auto group = [](auto body) { return test::runRanks(1, body); };
  const auto a = at::ones({2}).requires_grad_();
  EXPECT_THAT(group([&](auto g) {
                Reducer({{"a", a}, {"b", a}}, g, {});
              }),
              Each(HasSubstr("parameter 'b' (1) stands in the list twice")));
  EXPECT_THAT(group([&](auto g) {
                Reducer({{"c", a * 2}}, g, {});
              }),
              Each(HasSubstr("parameter 'c' (0) is not a leaf")));
  EXPECT_THAT(group([&](auto g) {
                Reducer({{"s", at::eye(2).to_sparse().requires_grad_()}}, g, {});
              }),
              Each(HasSubstr("parameter 's' (0) is sparse; only dense parameters can be reduced")));
  EXPECT_THAT(
      group([&](auto g) { Reducer({}, g, {}); }),
      Each(HasSubstr("no parameter of the model requires a gradient: there is nothing to reduce")));
}

TEST(ReducerErrors, NameASparseGradient) {
  EXPECT_THAT(
      test::runRanks(1,
                     [](auto group) {
                       torch::nn::Embedding table(torch::nn::EmbeddingOptions(5, 2).sparse(true));
                       Reducer reducer(ModelState::of(table.ptr()).parameters, group, {});
                       iterate(reducer, *table, at::ones({1}, at::kLong));
                     }),
      Each(AllOf(HasSubstr("the gradient of parameter 'weight' (0) is sparse float32"),
                 HasSubstr("; declare the parameter's gradient as sparse"))));
}

}  // namespace
}  // namespace lockstep::ddp
