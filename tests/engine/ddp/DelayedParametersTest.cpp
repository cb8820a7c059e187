#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/Join.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

// delay_all_reduce_named_params with param_to_hook_all_reduce: parameters outside the buckets.

namespace lockstep::ddp {
namespace {

using test::kSizes;
using test::Net;
using test::TwoHeads;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using Lists = std::vector<std::vector<std::uint32_t>>;

DdpOptions delaying(std::vector<std::string> names, std::string trigger) {
  DdpOptions options = test::withCaps(40, 100);
  options.delayAllReduceNamedParams = std::move(names);
  options.paramToHookAllReduce = std::move(trigger);
  return options;
}

/// The gradients of one process with the inputs of two ranks.
std::vector<at::Tensor> expectedGradients(int backwards = 1) {
  Net alone(kSizes);
  for (int i = 0; i < backwards; ++i) {
    for (const int rank : {0, 1}) {
      alone.forward(at::full({2, 4}, rank + 1.0)).square().mean().div(2).backward();
    }
  }
  return test::gradients(alone);
}

at::Tensor lossOf(DistributedDataParallel& ddp, int rank) {
  return ddp.forward<Net>(at::full({2, 4}, rank + 1.0)).square().mean();
}

TEST(DelayedParameters, AreAveragedByOneAllreduceOutsideTheBuckets) {
  const auto expected = expectedGradients();
  for (const bool view : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      auto options = delaying({"fc2.bias", "fc1.weight"}, "fc0.weight");
      options.gradientAsBucketView = view;
      auto net = std::make_shared<Net>(kSizes, group->rank() + 1);
      DistributedDataParallel ddp(net, group, options);
      EXPECT_EQ(ddp.parameters()[4].name, "fc2.bias");
      EXPECT_EQ(ddp.parameters()[5].name, "fc1.weight");
      EXPECT_EQ(ddp.plan().indices(), (Lists{{0, 1, 2, 3}}));
      for (int i = 0; i < 3; ++i) {
        const auto calls = group->reducedBuckets().size();
        net->zero_grad();
        lossOf(ddp, group->rank()).backward();
        ddp.checkFinalized();
        EXPECT_TRUE(test::close(test::gradients(*net), expected)) << "iteration " << i;
        const auto buckets = group->reducedBuckets();
        EXPECT_EQ(std::count(buckets.begin() + static_cast<std::ptrdiff_t>(calls), buckets.end(),
                             trace::kNoBucket),
                  1);
      }
      EXPECT_TRUE(ddp.hasRebuiltBuckets());
      // fc2.weight 40 bytes; fc1.bias 20, fc0.bias 24, fc0.weight 96
      EXPECT_EQ(ddp.plan().indices(), (Lists{{3}, {2, 1, 0}}));
    });
  }
}

TEST(DelayedParameters, AreReducedAtTheGradientOfTheParameterThatIsHooked) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    auto options = delaying({"right.weight", "right.bias"}, "right.weight");
    DistributedDataParallel ddp(net, group, options);
    const auto [left, right] = ddp.forward<TwoHeads>(at::ones({1, 4}) * (group->rank() + 1));
    right.sum().backward();
    EXPECT_THAT(group->reducedBuckets(), ElementsAre(trace::kNoBucket));  // launched at once
    left.sum().backward();
    ddp.checkFinalized();
    EXPECT_THAT(group->reducedBuckets(), ElementsAre(trace::kNoBucket, 0));
    EXPECT_TRUE(at::allclose(net->right->weight.grad(), at::full({2, 4}, 1.5)));
  });
}

TEST(DelayedParameters, MayBeAllOfTheModel) {
  const auto expected = expectedGradients();
  test::runRanksWell(2, [&](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    std::vector<std::string> all;
    for (const auto& item : net->named_parameters()) {
      all.push_back(item.key());
    }
    DistributedDataParallel ddp(net, group, delaying(all, "fc0.weight"));
    EXPECT_TRUE(ddp.plan().buckets.empty());
    for (int i = 0; i < 3; ++i) {
      net->zero_grad();
      lossOf(ddp, group->rank()).backward();
      ddp.checkFinalized();
      EXPECT_TRUE(test::close(test::gradients(*net), expected)) << "iteration " << i;
    }
  });
}

TEST(DelayedParameters, AccumulateUnderNoSync) {
  const auto expected = expectedGradients(2);
  test::runRanksWell(2, [&](auto group) {
    auto net = std::make_shared<Net>(kSizes);
    DistributedDataParallel ddp(net, group, delaying({"fc1.weight"}, "fc0.weight"));
    {
      const DistributedDataParallel::NoSync noSync(ddp);
      lossOf(ddp, group->rank()).backward();
    }
    EXPECT_TRUE(group->reducedBuckets().empty());
    lossOf(ddp, group->rank()).backward();
    ddp.checkFinalized();
    EXPECT_TRUE(test::close(test::gradients(*net), expected));
  });
}

TEST(DelayedParameters, ComeAfterTheBucketsWhereRanksMayDifferInWhatTheyUse) {
  for (const bool isStatic : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      auto net = std::make_shared<TwoHeads>();
      auto options = delaying({"right.weight", "right.bias"}, "right.weight");
      options.findUnusedParameters = !isStatic;
      options.staticGraph = isStatic;
      DistributedDataParallel ddp(net, group, options);
      for (int i = 0; i < 3; ++i) {
        net->zero_grad();
        auto output = ddp.run([&] {
          const auto [left, right] = net->forward(at::ones({1, 4}));
          const bool both = isStatic || group->rank() == 0;
          return both ? left.sum() + right.sum() : left.sum();
        });
        output.backward();
        ddp.checkFinalized();
        EXPECT_TRUE(at::allclose(net->left->weight.grad(), at::ones({2, 4})));
        EXPECT_TRUE(at::allclose(net->right->weight.grad(), at::full({2, 4}, isStatic ? 1 : 0.5)))
            << "iteration " << i;
      }
    });
  }
}

std::vector<std::string> constructing(const DdpOptions& options) {
  return test::runRanks(1, [&](auto group) {
    DistributedDataParallel ddp(std::make_shared<Net>(kSizes), group, options);
  });
}

TEST(DelayedParametersErrors, NameWhatTheModelHasNot) {
  EXPECT_THAT(constructing(delaying({"fc1.wieght"}, "fc0.weight")),
              Each(HasSubstr("'fc1.wieght' of delay_all_reduce_named_params is no trained")));
  EXPECT_THAT(constructing(delaying({"fc1.weight"}, "fc9.weight")),
              Each(HasSubstr("'fc9.weight' of param_to_hook_all_reduce is no trained")));
  EXPECT_THAT(constructing(delaying({"fc1.weight", "fc1.weight"}, "fc0.weight")),
              Each(HasSubstr("'fc1.weight' of delay_all_reduce_named_params")));
  EXPECT_THAT(constructing(delaying({"fc1.weight"}, "")), Each(HasSubstr("need each other")));
  EXPECT_THAT(constructing(delaying({}, "fc1.weight")), Each(HasSubstr("need each other")));
}

TEST(DelayedParametersErrors, NameAGradientThatComesAfterTheReduction) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<Net>(kSizes);
                               DistributedDataParallel ddp(net, group,
                                                           delaying({"fc0.weight"}, "fc2.weight"));
                               lossOf(ddp, group->rank()).backward();
                             }),
              Each(AllOf(HasSubstr("parameter 'fc0.weight' (5) is to be reduced when parameter "
                                   "'fc2.weight' (3) has its gradient"),
                         HasSubstr("had none by then in the backward of step 0"))));
}

TEST(DelayedParametersErrors, NameAParameterWithoutAGradient) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<TwoHeads>();
                               DistributedDataParallel ddp(net, group,
                                                           delaying({"right.bias"}, "right.bias"));
                               ddp.forward<TwoHeads>(at::ones({1, 4})).first.sum().backward();
                               ddp.checkFinalized();
                             }),
              Each(HasSubstr("'right.weight' (2), 'right.bias' (3)")));
}

TEST(DelayedParametersErrors, RefuseAJoinAndAnOptimizerInTheBackward) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<Net>(kSizes);
                               DistributedDataParallel ddp(net, group,
                                                           delaying({"fc1.weight"}, "fc0.weight"));
                               Join join({&ddp});
                               join.run(0u, [&] { lossOf(ddp, group->rank()).backward(); });
                             }),
              Each(HasSubstr("delay_all_reduce_named_params in a Join")));
  EXPECT_THAT(test::runRanks(1,
                             [](auto group) {
                               struct Writes final : hooks::CommHook {
                                 [[nodiscard]] std::string name() const override { return "mine"; }
                                 [[nodiscard]] bool writesParameters() const override {
                                   return true;
                                 }
                                 base::Future<at::Tensor> run(hooks::GradBucket&) override {
                                   return {};
                                 }
                               };
                               auto options = delaying({"fc1.weight"}, "fc0.weight");
                               options.hook = std::make_shared<Writes>();
                               DistributedDataParallel ddp(std::make_shared<Net>(kSizes), group,
                                                           options);
                             }),
              Each(HasSubstr("hook 'mine' writes the parameters of the buckets")));
}

}  // namespace
}  // namespace lockstep::ddp
