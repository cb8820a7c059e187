#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using test::Net;
using test::TwoHeads;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Three layers; a forward uses the first and those asked for.
struct Branches : torch::nn::Module {
  Branches()
      : shared(register_module("shared", torch::nn::Linear(3, 3))),
        sometimes(register_module("sometimes", torch::nn::Linear(3, 2))),
        never(register_module("never", torch::nn::Linear(3, 2))) {
    test::fill(*this, 1);
  }
  at::Tensor forward(const at::Tensor& x, bool further) {
    const at::Tensor hidden = shared->forward(x);
    return further ? sometimes->forward(hidden).sum() : hidden.sum();
  }
  torch::nn::Linear shared;
  torch::nn::Linear sometimes;
  torch::nn::Linear never;
};

DdpOptions findUnused(bool view = false) {
  DdpOptions options;
  options.findUnusedParameters = true;
  options.gradientAsBucketView = view;
  return options;
}

TEST(UnusedParameters, OfSomeRanksGetTheAverageAndOfAllRanksStayWithoutGradient) {
  for (const bool view : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      auto net = std::make_shared<Branches>();
      DistributedDataParallel ddp(net, group, findUnused(view));
      for (int i = 0; i < 3; ++i) {
        net->zero_grad();
        ddp.forward<Branches>(at::ones({1, 3}), group->rank() == 1).backward();
        ddp.checkFinalized();
        EXPECT_TRUE(at::allclose(net->sometimes->bias.grad(), at::full({2}, 0.5)));
        EXPECT_FALSE(net->never->weight.grad().defined());
        EXPECT_FALSE(net->never->bias.grad().defined());

        Branches alone;
        (alone.forward(at::ones({1, 3}), true) + alone.forward(at::ones({1, 3}), false))
            .div(2)
            .backward();
        EXPECT_TRUE(at::allclose(net->shared->weight.grad(), alone.shared->weight.grad()));
        EXPECT_TRUE(at::allclose(net->sometimes->weight.grad(), alone.sometimes->weight.grad()));
      }
      const std::vector<std::uint32_t> unused = group->rank() == 1
                                                    ? std::vector<std::uint32_t>{4, 5}
                                                    : std::vector<std::uint32_t>{2, 3, 4, 5};
      EXPECT_EQ(ddp.unusedParameters(), unused);
    });
  }
}

TEST(UnusedParameters, AreNoneInTheMapOfUsedOnesThatEveryRankCanRead) {
  test::runRanksWell(3, [](auto group) {
    auto net = std::make_shared<Branches>();
    DistributedDataParallel ddp(net, group, findUnused());
    EXPECT_THAT(ddp.usedParameters(), IsEmpty());
    for (const int users : {2, 1}) {
      ddp.forward<Branches>(at::ones({1, 3}), group->rank() < users).backward();
      ddp.checkFinalized();
      EXPECT_THAT(ddp.usedParameters(), ElementsAre(3, 3, users, users, 0, 0));
    }
  });
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group);
    ddp.forward<Net>(at::ones({1, 4})).sum().backward();
    EXPECT_THAT(ddp.usedParameters(), IsEmpty()) << "nobody asked for it";
  });
}

TEST(UnusedParameters, KeepGradientsThatAreViewsOfABucketThatIsSkipped) {
  for (const bool batched : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      auto net = std::make_shared<Branches>();
      DdpOptions options = test::withCaps(1, 1);
      options.findUnusedParameters = true;
      options.skipAllReduceUnusedParams = true;
      options.gradientAsBucketView = true;
      options.batchedGradCopy = batched;
      DistributedDataParallel ddp(net, group, options);
      const auto iterate = [&](bool further) {
        ddp.forward<Branches>(at::ones({1, 3}), further).backward();
        ddp.checkFinalized();
      };
      iterate(true);
      const at::Tensor before = net->sometimes->weight.grad().clone();
      iterate(false);  // gradients are not set to zero in between
      iterate(false);
      EXPECT_TRUE(at::equal(net->sometimes->weight.grad(), before));
    });
  }
}

TEST(UnusedParameters, KeepGradientsThatBecomeViewsOfABucketThatIsSkipped) {
  for (const bool batched : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      auto net = std::make_shared<Branches>();
      DdpOptions options = test::withCaps(1, 1);
      options.findUnusedParameters = true;
      options.skipAllReduceUnusedParams = true;
      options.gradientAsBucketView = true;
      options.batchedGradCopy = batched;
      DistributedDataParallel ddp(net, group, options);
      const at::Tensor own = at::full({2, 3}, 6.0);
      net->never->weight.mutable_grad() = own.clone();
      for (int i = 0; i < 2; ++i) {
        ddp.forward<Branches>(at::ones({1, 3}), true).backward();
        ddp.checkFinalized();
        EXPECT_TRUE(at::equal(net->never->weight.grad(), own)) << "batched: " << batched;
      }
    });
  }
}

TEST(UnusedParameters, MayBeNoneOnOneRankAndSomeOnTheOthers) {
  test::runRanksWell(3, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    DistributedDataParallel ddp(net, group, findUnused());
    for (int i = 0; i < 2; ++i) {
      net->zero_grad();
      auto output = ddp.run([&] {
        const auto [left, right] = net->forward(at::ones({1, 4}));
        return group->rank() == 0 ? left.sum() + right.sum() : left.sum();
      });
      output.backward();
      ddp.checkFinalized();
      EXPECT_TRUE(at::allclose(net->left->weight.grad(), at::ones({2, 4})));
      EXPECT_TRUE(at::allclose(net->right->weight.grad(), at::full({2, 4}, 1.0 / 3)));
      EXPECT_EQ(ddp.unusedParameters().empty(), group->rank() == 0);
    }
  });
}

TEST(UnusedParameters, BehindAnOutputThatTheLossIgnoresStayUntouched) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    DistributedDataParallel ddp(net, group, findUnused());
    for (int i = 0; i < 2; ++i) {
      net->zero_grad();
      const auto [left, right] = ddp.forward<TwoHeads>(at::ones({1, 4}) * (group->rank() + 1));
      left.sum().backward();
      ddp.checkFinalized();
      EXPECT_TRUE(at::allclose(net->left->weight.grad(), at::full({2, 4}, 1.5)));
      EXPECT_FALSE(net->right->weight.grad().defined());
    }
    EXPECT_THAT(ddp.unusedParameters(), IsEmpty());  // the graph reaches them
  });
}

TEST(UnusedParameters, AreFoundBehindOutputsInContainers) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    DistributedDataParallel ddp(net, group, findUnused());
    auto output = ddp.run([&] {
      std::map<std::string, std::vector<at::Tensor>> dict;
      dict["heads"].push_back(net->left->forward(at::ones({1, 4})));
      return dict;
    });
    output["heads"][0].sum().backward();
    ddp.checkFinalized();
    EXPECT_THAT(ddp.unusedParameters(), ElementsAre(2, 3));
  });
}

TEST(UnusedParameters, ThatNoSyncUsedBeforeAreReducedWithTheNextBackward) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Branches>();
    DistributedDataParallel ddp(net, group, findUnused());
    {
      DistributedDataParallel::NoSync noSync(ddp);
      ddp.forward<Branches>(at::ones({1, 3}), group->rank() == 0).backward();
    }
    ddp.forward<Branches>(at::ones({1, 3}), false).backward();
    ddp.checkFinalized();
    EXPECT_TRUE(at::allclose(net->sometimes->bias.grad(), at::full({2}, 0.5)));
    EXPECT_FALSE(net->never->bias.grad().defined());
  });
}

TEST(UnusedParameters, KeepTheFirstBucketsForGoodUnlessTheGraphIsStatic) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options = test::withCaps(40, 100);
    options.findUnusedParameters = true;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 5, 2});
    DistributedDataParallel ddp(net, group, options);
    const auto first = ddp.plan();
    EXPECT_EQ(first.buckets.size(), 3u);
    for (int i = 0; i < 4; ++i) {
      ddp.forward<Net>(at::ones({1, 4})).sum().backward();
    }
    EXPECT_FALSE(ddp.hasRebuiltBuckets());
    EXPECT_EQ(ddp.plan(), first);
  });
}

TEST(UnusedParameters, TellWhetherAStaticGraphWouldDo) {
  test::runRanksWell(1, [](auto group) {
    auto net = std::make_shared<Branches>();
    DistributedDataParallel ddp(net, group, findUnused());
    const auto step = [&](bool further) {
      ddp.forward<Branches>(at::ones({1, 3}), further).backward();
      return ddp.canSetStaticGraph();
    };
    EXPECT_FALSE(step(false));
    EXPECT_TRUE(step(false));
    EXPECT_FALSE(step(true));
  });
}

TEST(UnusedParameters, LeaveBucketsThatNoRankUsedUnsentWhenAsked) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options = findUnused();
    options.skipAllReduceUnusedParams = true;
    options.firstBucketMb = 0;
    options.bucketCapMb = 0;  // each gradient a bucket: 5 4 3 2 1 0
    auto net = std::make_shared<Branches>();
    DistributedDataParallel ddp(net, group, options);
    ddp.forward<Branches>(at::ones({1, 3}), group->rank() == 1).backward();
    ddp.checkFinalized();
    EXPECT_THAT(group->reducedBuckets(),
                ElementsAre(trace::kNoBucket, 2, 3, 4, 5, trace::kNoBucket));
    EXPECT_TRUE(at::allclose(net->sometimes->bias.grad(), at::full({2}, 0.5)));
    EXPECT_FALSE(net->never->bias.grad().defined());
  });
}

TEST(UnusedParameters, WithAGradientAfterAllAreNamed) {
  EXPECT_THAT(test::runRanks(1,
                             [](auto group) {
                               auto net = std::make_shared<TwoHeads>();
                               DistributedDataParallel ddp(net, group, findUnused());
                               const auto x = at::ones({1, 4});
                               auto left = ddp.run([&] { return net->left->forward(x); });
                               (left + net->right->forward(x)).sum().backward();
                             }),
              Each(AllOf(HasSubstr("parameter 'right."),
                         HasSubstr(", though the outputs of the forward do not depend on it, so "
                                   "that it was taken as unused. It is used outside the wrapped "
                                   "forward, or for something that the forward does not return"),
                         Not(HasSubstr("second gradient")))));
}

TEST(UnusedParameters, ThatTheOutputsHaveAndTheBackwardDidNotReachAreNamed) {
  EXPECT_THAT(
      test::runRanks(2,
                     [](auto group) {
                       auto net = std::make_shared<TwoHeads>();
                       DistributedDataParallel ddp(net, group, findUnused());
                       at::Tensor inner;
                       ddp.run([&] {
                         const auto [left, right] = net->forward(at::ones({1, 4}));
                         inner = left;
                         return left + right;
                       });
                       inner.sum().backward();
                       ddp.checkFinalized();
                     }),
      Each(AllOf(HasSubstr("gave no gradient to 2 of 4 parameters: 'right.weight' (2)"),
                 HasSubstr("or remove those that do not; they are in the graph of the forward's "
                           "outputs, which the backward did not start from"))));
}

TEST(UnusedParameters, CannotBeFoundWithoutOutputs) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<TwoHeads>();
                               DistributedDataParallel ddp(net, group, findUnused());
                               ddp.preForward();
                               ddp.postForward();
                             }),
              Each(HasSubstr("find_unused_parameters found no tensor with a gradient")));
}

}  // namespace
}  // namespace lockstep::ddp
