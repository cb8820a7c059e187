#include "engine/ddp/MixedPrecision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/Join.h"
#include "tests/engine/ddp/FunctionHook.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using test::kWideSizes;
using test::Net;
using test::rows;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

DdpOptions lowPrecision(std::optional<at::ScalarType> reduce = {}) {
  DdpOptions options = test::withCaps(200, 600);
  options.mixedPrecision.emplace();
  options.mixedPrecision->paramDtype = at::kBFloat16;
  options.mixedPrecision->reduceDtype = reduce;
  return options;
}

/// The gradients that a bfloat16 copy of `net` gives, in float32.
std::vector<at::Tensor> gradientsOfACopy(const Net& net, const at::Tensor& input) {
  Net copy(kWideSizes);
  copy.to(at::kBFloat16);
  {
    torch::NoGradGuard noGrad;
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      copy.parameters()[i].copy_(net.parameters()[i]);
    }
  }
  copy.forward(input.to(at::kBFloat16)).square().mean().backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& gradient : test::gradients(copy)) {
    gradients.push_back(gradient.to(at::kFloat));
  }
  return gradients;
}

/// The average over two ranks, as it is reduced in `type`.
std::vector<at::Tensor> averaged(const Net& net, int step, at::ScalarType type) {
  auto sum = gradientsOfACopy(net, rows(step, 0));
  const auto second = gradientsOfACopy(net, rows(step, 1));
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = ((sum[i].to(type) * 0.5) + (second[i].to(type) * 0.5)).to(at::kFloat);
  }
  return sum;
}

struct Reduced : testing::TestWithParam<std::tuple<std::optional<at::ScalarType>, bool, bool>> {};

TEST_P(Reduced, GradientsOfLowPrecisionStepParametersOfFullPrecision) {
  const auto [reduce, isStatic, view] = GetParam();
  test::runRanksWell(2, [&, reduce = reduce, isStatic = isStatic, view = view](auto group) {
    auto options = lowPrecision(reduce);
    options.staticGraph = isStatic;
    options.gradientAsBucketView = view;
    auto net = std::make_shared<Net>(kWideSizes, group->rank() + 1);
    DistributedDataParallel ddp(net, group, options);
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    for (int step = 0; step < 4; ++step) {
      const auto expected = averaged(*net, step, reduce.value_or(at::kBFloat16));
      test::clearGradients(*net);
      const at::Tensor output = ddp.template forward<Net>(rows(step, group->rank()));
      EXPECT_EQ(output.scalar_type(), at::kBFloat16);
      EXPECT_EQ(net->layers[0]->weight.scalar_type(), at::kBFloat16);
      output.square().mean().backward();
      ddp.checkFinalized();
      for (const auto& parameter : net->parameters()) {
        EXPECT_EQ(parameter.scalar_type(), at::kFloat);
        ASSERT_EQ(parameter.grad().scalar_type(), at::kFloat);
      }
      EXPECT_TRUE(test::equal(test::gradients(*net), expected)) << "step " << step;
      optimizer.step();
    }
    EXPECT_TRUE(ddp.hasRebuiltBuckets());
  });
}

INSTANTIATE_TEST_SUITE_P(MixedPrecision, Reduced,
                         testing::Combine(testing::Values(std::nullopt, at::kFloat, at::kDouble),
                                          testing::Bool(), testing::Bool()));

TEST(MixedPrecision, GivesHooksBucketsOfTheReduceDtype) {
  test::runRanksWell(1, [](auto group) {
    for (const auto& reduce : {std::optional<at::ScalarType>(), std::optional(at::kFloat)}) {
      auto options = lowPrecision(reduce);
      std::vector<at::ScalarType> seen;
      options.hook = std::make_shared<test::FunctionHook>([&](hooks::GradBucket& bucket) {
        seen.push_back(bucket.buffer().scalar_type());
        return test::done(bucket.buffer());
      });
      auto net = std::make_shared<Net>(kWideSizes);
      DistributedDataParallel ddp(net, group, options);
      ddp.template forward<Net>(rows(0, 0)).sum().backward();
      EXPECT_THAT(seen, Each(reduce.value_or(at::kBFloat16)));
      EXPECT_EQ(seen.size(), 1u);
    }
  });
}

TEST(MixedPrecision, MayConcernTheReductionAlone) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options;
    options.mixedPrecision.emplace();
    options.mixedPrecision->reduceDtype = at::kBFloat16;
    auto net = std::make_shared<Net>(kWideSizes);
    DistributedDataParallel ddp(net, group, options);
    const at::Tensor output = ddp.template forward<Net>(at::ones({1, 8}) * (group->rank() + 1));
    EXPECT_EQ(output.scalar_type(), at::kFloat);
    output.square().sum().backward();
    for (const auto& gradient : test::gradients(*net)) {
      EXPECT_EQ(gradient.scalar_type(), at::kFloat);
      EXPECT_TRUE(at::equal(gradient, gradient.to(at::kBFloat16).to(at::kFloat)));
    }
  });
}

TEST(MixedPrecision, DividesBeforeItSumsSoThatHalfPrecisionDoesNotOverflow) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options;
    options.mixedPrecision.emplace();
    options.mixedPrecision->reduceDtype = at::kHalf;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{2, 2});
    DistributedDataParallel ddp(net, group, options);
    // Two of these together are more than the largest number of float16.
    (ddp.template forward<Net>(at::ones({1, 2})).sum() * 32768).backward();
    EXPECT_TRUE(at::equal(net->layers[0]->weight.grad(), at::full({2, 2}, 32768.0)));
  });
}

TEST(MixedPrecision, AccumulatesInFullPrecisionUnderNoSync) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(kWideSizes);
    DistributedDataParallel ddp(net, group, lowPrecision(at::kFloat));
    auto expected = averaged(*net, 0, at::kFloat);
    const auto more = averaged(*net, 1, at::kFloat);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] += more[i];
    }
    {
      const DistributedDataParallel::NoSync noSync(ddp);
      ddp.template forward<Net>(rows(0, group->rank())).square().mean().backward();
    }
    EXPECT_EQ(net->layers[0]->weight.scalar_type(), at::kFloat);
    EXPECT_EQ(net->layers[0]->weight.grad().scalar_type(), at::kFloat);
    ddp.template forward<Net>(rows(1, group->rank())).square().mean().backward();
    ddp.checkFinalized();
    EXPECT_TRUE(test::close(test::gradients(*net), expected));
  });
}

TEST(MixedPrecision, LetsABackwardFollowTheNoSyncOfItsForward) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(kWideSizes);
    DistributedDataParallel ddp(net, group, lowPrecision());
    at::Tensor loss;
    {
      const DistributedDataParallel::NoSync noSync(ddp);
      loss = ddp.template forward<Net>(rows(0, group->rank())).sum();
    }
    loss.backward();
    ddp.template forward<Net>(rows(1, group->rank())).sum().backward();
    ddp.checkFinalized();
    EXPECT_EQ(net->layers[0]->weight.scalar_type(), at::kFloat);
  });
}

TEST(MixedPrecision, EvaluatesInLowPrecisionAndGivesTheParametersBack) {
  test::runRanksWell(1, [](auto group) {
    auto net = std::make_shared<Net>(kWideSizes);
    const auto before = test::weights(*net);
    DistributedDataParallel ddp(net, group, lowPrecision());
    torch::NoGradGuard noGrad;
    EXPECT_EQ(ddp.template forward<Net>(rows(0, 0)).scalar_type(), at::kBFloat16);
    EXPECT_TRUE(test::equal(test::weights(*net), before));
  });
}

TEST(MixedPrecision, GivesTheParametersBackWhereNoBackwardFollowed) {
  test::runRanksWell(1, [](auto group) {
    auto net = std::make_shared<Net>(kWideSizes);
    const auto before = test::weights(*net);
    {
      DistributedDataParallel ddp(net, group, lowPrecision());
      ddp.template forward<Net>(rows(0, 0));
      ddp.template forward<Net>(rows(0, 0)).sum().backward();
      ddp.template forward<Net>(rows(0, 0));
    }
    EXPECT_TRUE(test::equal(test::weights(*net), before));
  });
}

TEST(MixedPrecision, LeavesGradientsLowWhenAsked) {
  test::runRanksWell(2, [](auto group) {
    auto options = lowPrecision(at::kFloat);
    options.mixedPrecision->keepLowPrecisionGrads = true;
    auto net = std::make_shared<Net>(kWideSizes);
    DistributedDataParallel ddp(net, group, options);
    const auto expected = averaged(*net, 0, at::kFloat);
    ddp.template forward<Net>(rows(0, group->rank())).square().mean().backward();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor parameter = net->parameters()[i];
      EXPECT_EQ(parameter.scalar_type(), at::kFloat);
      EXPECT_TRUE(at::equal(parameter.grad(), expected[i].to(at::kBFloat16)));
    }
  });
}

TEST(MixedPrecision, CastsBuffersForGoodAndInputsOnRequest) {
  struct Counting : torch::nn::Module {
    Counting() : fc(register_module("fc", torch::nn::Linear(8, 4))) {
      register_buffer("scale", at::ones({4}));
      register_buffer("count", at::zeros({1}, at::kLong));
    }
    at::Tensor forward(const std::vector<at::Tensor>& inputs, const at::Tensor& index) {
      EXPECT_EQ(index.scalar_type(), at::kLong);
      seen = inputs[0].scalar_type();
      return fc->forward(inputs[0].to(fc->weight.scalar_type())) * named_buffers()["scale"];
    }
    torch::nn::Linear fc;
    at::ScalarType seen = at::kByte;
  };
  for (const bool cast : {true, false}) {
    test::runRanksWell(1, [&](auto group) {
      auto options = lowPrecision();
      options.mixedPrecision->bufferDtype = at::kBFloat16;
      options.mixedPrecision->castForwardInputs = cast;
      auto net = std::make_shared<Counting>();
      DistributedDataParallel ddp(net, group, options);
      EXPECT_EQ(net->named_buffers()["scale"].scalar_type(), at::kBFloat16);
      EXPECT_EQ(net->named_buffers()["count"].scalar_type(), at::kLong);
      const at::Tensor input = rows(0, 0);
      ddp.template forward<Counting>(std::vector<at::Tensor>{input}, at::zeros({1}, at::kLong))
          .sum()
          .backward();
      EXPECT_EQ(net->seen, cast ? at::kBFloat16 : at::kFloat);
      EXPECT_EQ(input.scalar_type(), at::kFloat);  // the caller's own stays
    });
  }
}

TEST(MixedPrecision, FindsUnusedParametersAndTrainsUnevenInputs) {
  test::runRanksWell(2, [](auto group) {
    auto options = lowPrecision(at::kFloat);
    options.findUnusedParameters = true;
    auto net = std::make_shared<test::TwoHeads>();
    DistributedDataParallel ddp(net, group, options);
    Join join({&ddp});
    join.run(0u, [&] {
      for (int i = 0; i < 1 + 2 * group->rank(); ++i) {
        net->zero_grad();
        auto output = ddp.run([&] {
          at::Tensor x = at::ones({1, 4});
          ddp.castInputs(x);
          return net->left->forward(x);
        });
        output.sum().backward();
        ddp.checkFinalized();
        EXPECT_TRUE(at::equal(net->left->weight.grad(), at::full({2, 4}, i == 0 ? 1.0 : 0.5)));
        EXPECT_FALSE(net->right->weight.grad().defined());
      }
    });
    EXPECT_EQ(net->left->weight.scalar_type(), at::kFloat);
  });
}

TEST(MixedPrecisionErrors, NameWhatDoesNotGoTogether) {
  const auto constructing = [](auto change, auto makeNet) {
    return test::runRanks(2, [&](auto group) {
      auto options = lowPrecision();
      change(options, group->rank());
      DistributedDataParallel ddp(makeNet(), group, options);
    });
  };
  const auto net = [] { return std::make_shared<Net>(kWideSizes); };
  EXPECT_THAT(constructing([](auto& o, int) { o.mixedPrecision->reduceDtype = at::kInt; }, net),
              Each(HasSubstr("mixed_precision: reduce_dtype is int32")));
  EXPECT_THAT(constructing(
                  [](auto& o, int rank) {
                    o.mixedPrecision->paramDtype = rank == 0 ? at::kBFloat16 : at::kHalf;
                  },
                  net),
              Each(AllOf(HasSubstr("param_dtype bfloat16"), HasSubstr("param_dtype float16"))));
  EXPECT_THAT(
      constructing(
          [](auto&, int) {},
          [] {
            return torch::nn::Embedding(torch::nn::EmbeddingOptions(5, 2).sparse(true)).ptr();
          }),
      Each(HasSubstr("parameter 'weight' has sparse gradients")));
}

}  // namespace
}  // namespace lockstep::ddp
