#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ddp/DistributedDataParallel.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

// Mistakes that PyTorch's DDP passes over in silence, or tells of late; those that one rank of
// several makes are in tests/mistakes.

namespace lockstep::ddp {
namespace {

using test::Net;
using test::TwoHeads;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

TEST(Honesty, GradientsTakenWithoutABackwardAreNoBackward) {
  EXPECT_THAT(test::runRanks(1,
                             [](auto group) {
                               auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
                               DistributedDataParallel ddp(net, group);
                               const auto output = ddp.forward<Net>(at::ones({1, 4})).sum();
                               const auto gradients =
                                   torch::autograd::grad({output}, net->parameters());
                               EXPECT_EQ(gradients.size(), 2u);
                               EXPECT_TRUE(group->reducedBuckets().empty());
                               ddp.checkFinalized();
                             }),
              Each(AllOf(HasSubstr("followed by no backward"), HasSubstr("autograd::grad"))));
}

TEST(Honesty, AParameterFrozenAfterTheWrapIsNamed) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
                               DistributedDataParallel ddp(net, group);
                               net->layers[0]->bias.set_requires_grad(false);
                               ddp.forward<Net>(at::ones({1, 4}));
                             }),
              Each(HasSubstr("parameter 'fc0.bias' (1) was frozen after DistributedDataParallel "
                             "was built, which would wait for its gradient")));
}

TEST(Honesty, AParameterThawedAfterTheWrapIsNamedInTheSameIteration) {
  const auto train = [](auto thawInForward) {
    return test::runRanks(2, [thawInForward](auto group) {
      auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 3, 2});
      net->layers[0]->bias.set_requires_grad(false);
      DistributedDataParallel ddp(net, group);
      const auto iterate = [&](bool thaw) {
        auto loss = ddp.run([&] {
          if (thaw) {
            net->layers[0]->bias.set_requires_grad(true);
          }
          return net->forward(at::ones({1, 4})).sum();
        });
        loss.backward();
        ddp.checkFinalized();
      };
      iterate(false);
      if (!thawInForward) {
        net->layers[0]->bias.set_requires_grad(true);
      }
      iterate(thawInForward);
    });
  };
  for (const bool thawInForward : {false, true}) {
    EXPECT_THAT(train(thawInForward), Each(AllOf(HasSubstr("parameter 'fc0.bias' was frozen when"),
                                                 HasSubstr("thaw it first, then wrap the model"))));
  }
}

TEST(Honesty, AFailedModelTrainsAgainUnderAnotherGroup) {
  auto model = [](int rank) {
    auto net = std::make_shared<TwoHeads>(static_cast<std::uint64_t>(rank) + 1);
    return net;
  };
  std::vector<std::shared_ptr<TwoHeads>> nets{model(0), model(1)};
  test::runRanks(2, [&](auto group) {
    auto net = nets[static_cast<std::size_t>(group->rank())];
    DistributedDataParallel ddp(net, group);
    ddp.forward<TwoHeads>(at::ones({1, 4})).first.sum().backward();
    ddp.checkFinalized();  // throws: the right head got nothing
  });
  test::runRanksWell(2, [&](auto group) {
    auto net = nets[static_cast<std::size_t>(group->rank())];
    net->zero_grad();
    DistributedDataParallel ddp(net, group);
    const auto [left, right] = ddp.forward<TwoHeads>(at::ones({1, 4}) * (group->rank() + 1));
    (left.sum() + right.sum()).backward();
    ddp.checkFinalized();
    EXPECT_TRUE(at::allclose(net->left->weight.grad(), at::full({2, 4}, 1.5)));
  });
}

TEST(Honesty, OptionsThatDifferAreNamedWithBothRanks) {
  const auto build = [](auto change) {
    return test::runRanks(3, [change](auto group) {
      DdpOptions options;
      if (group->rank() == 2) {
        change(options);
      }
      DistributedDataParallel ddp(std::make_shared<TwoHeads>(), group, options);
    });
  };
  EXPECT_THAT(build([](DdpOptions& options) { options.findUnusedParameters = true; }),
              Each(AllOf(HasSubstr("rank 0 has find_unused_parameters off"),
                         HasSubstr("rank 2 has find_unused_parameters on"))));
  EXPECT_THAT(build([](DdpOptions& options) { options.staticGraph = true; }),
              Each(HasSubstr("rank 2 has find_unused_parameters off, static_graph on")));
  EXPECT_THAT(build([](DdpOptions& options) {
                options.bucketCapMbList = {1.5, 2};
              }),
              Each(HasSubstr("caps [1.5, 2] MiB")));
}

// Constructor arguments.

TEST(IgnoredParameters, AreNeitherComparedNorCopiedNorReduced) {
  test::runRanksWell(2, [](auto group) {
    struct Own : torch::nn::Module {
      explicit Own(int rank)
          : common(register_module("common", torch::nn::Linear(2, 2))),
            own(register_module("own", torch::nn::Linear(2, 2 + rank))) {
        register_buffer("count", at::full({1 + rank}, rank, at::kFloat));
      }
      torch::nn::Linear common, own;
    };
    auto net = std::make_shared<Own>(group->rank());
    DdpOptions options;
    options.parametersAndBuffersToIgnore = {"own.weight", "own.bias", "count"};
    DistributedDataParallel ddp(net, group, options);
    EXPECT_EQ(ddp.parameters().size(), 2u);
    auto output = ddp.run([&] {
      const auto x = at::ones({1, 2}) * (group->rank() + 1);
      return net->common->forward(x).sum() + net->own->forward(x).sum();
    });
    output.backward();
    ddp.checkFinalized();
    EXPECT_TRUE(at::allclose(net->common->weight.grad(), at::full({2, 2}, 1.5)));
    EXPECT_TRUE(at::allclose(net->own->weight.grad(),
                             at::full({2 + group->rank(), 2}, group->rank() + 1.0)));
    EXPECT_EQ(net->named_buffers()["count"][0].template item<float>(), group->rank());
  });
}

TEST(IgnoredParameters, ThatTheModelHasNotAreRefused) {
  EXPECT_THAT(test::runRanks(1,
                             [](auto group) {
                               DdpOptions options;
                               options.parametersAndBuffersToIgnore = {"left.wieght"};
                               DistributedDataParallel ddp(std::make_shared<TwoHeads>(), group,
                                                           options);
                             }),
              Each(HasSubstr("'left.wieght' is to be ignored")));
}

TEST(InitSync, OffNeitherComparesNorCopies) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options;
    options.initSync = false;
    auto net = std::make_shared<TwoHeads>(static_cast<std::uint64_t>(group->rank()) + 1);
    DistributedDataParallel ddp(net, group, options);
    EXPECT_EQ(group->sequenceNumber(), 0u);
    EXPECT_TRUE(test::equal(test::weights(*net), test::weights(TwoHeads(group->rank() + 1u))));
  });
}

TEST(BucketCapMbList, LimitsSuccessiveBucketsFromTheFirstIterationOn) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options;
    options.bucketCapMbList = {8.0 / 1048576, 40.0 / 1048576, 100.0 / 1048576};
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 5, 2});
    DistributedDataParallel ddp(net, group, options);
    using Lists = std::vector<std::vector<std::uint32_t>>;
    EXPECT_EQ(ddp.plan().indices(), (Lists{{3, 4, 5}, {1, 2}, {0}}));
    for (int i = 0; i < 2; ++i) {
      ddp.forward<Net>(at::ones({1, 4})).sum().backward();
    }
    EXPECT_EQ(ddp.plan().indices(), (Lists{{5}, {4}, {3, 2}, {1, 0}}));
  });
}

TEST(ComplexGradients, AreReducedAsPairsOfReals) {
  for (const bool view : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      auto real = at::ones({2}).requires_grad_();
      auto complex = at::ones({2, 3}, at::kComplexFloat).t().requires_grad_();
      ModelState state;
      state.parameters = {{"real", real}, {"complex", complex}};
      DdpOptions options;
      options.gradientAsBucketView = view;
      DistributedDataParallel ddp(state, group, options);
      for (int i = 0; i < 2; ++i) {
        const auto factor = at::complex(at::full({3, 2}, group->rank() + 1.0),
                                        at::full({3, 2}, group->rank() + 3.0))
                                .to(at::kComplexFloat);
        if (real.grad().defined()) {
          real.mutable_grad().zero_();
          complex.mutable_grad().zero_();
        }
        auto output = ddp.run([&] { return at::real(complex * factor).sum() + real.sum(); });
        output.backward();
        ddp.checkFinalized();
        EXPECT_TRUE(at::allclose(at::real(complex.grad()), at::full({3, 2}, 1.5f)));
        EXPECT_TRUE(at::allclose(at::imag(complex.grad()), at::full({3, 2}, -3.5f)));
      }
    });
  }
}

}  // namespace
}  // namespace lockstep::ddp
