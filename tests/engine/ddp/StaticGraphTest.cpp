#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ddp/DistributedDataParallel.h"
#include "tests/engine/ddp/FunctionHook.h"
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

using Lists = std::vector<std::vector<std::uint32_t>>;

DdpOptions staticGraph(bool view = false) {
  DdpOptions options = test::withCaps(40, 100, view);
  options.staticGraph = true;
  return options;
}

/// Runs a layer without a graph and again with one in the backward, as re-entrant checkpointing.
struct Recomputed : torch::autograd::Function<Recomputed> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            torch::nn::LinearImpl* layer) {
    context->save_for_backward({input});
    context->saved_data["layer"] = reinterpret_cast<std::int64_t>(layer);
    at::NoGradGuard noGrad;
    return layer->forward(input);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    auto* layer = reinterpret_cast<torch::nn::LinearImpl*>(context->saved_data["layer"].toInt());
    at::AutoGradMode gradMode(true);
    at::Tensor input = context->get_saved_variables()[0].detach().requires_grad_();
    torch::autograd::backward({layer->forward(input)}, {gradients[0]});
    return {input.grad(), at::Tensor()};
  }
};

/// One layer used twice through re-entrant backwards, one in the usual way, one never.
struct Checkpointed : torch::nn::Module {
  Checkpointed()
      : twice(register_module("twice", torch::nn::Linear(3, 3))),
        once(register_module("once", torch::nn::Linear(3, 3))),
        never(register_module("never", torch::nn::Linear(3, 3))) {
    test::fill(*this, 1);
  }
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor hidden = once->forward(x);
    hidden = Recomputed::apply(hidden, twice.get()).tanh();
    return Recomputed::apply(hidden, twice.get());
  }
  torch::nn::Linear twice;
  torch::nn::Linear once;
  torch::nn::Linear never;
};

TEST(StaticGraph, ReducesReentrantBackwardsAndLeavesUnusedParametersAlone) {
  for (const bool view : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      auto net = std::make_shared<Checkpointed>();
      DistributedDataParallel ddp(net, group, staticGraph(view));
      for (int i = 0; i < 4; ++i) {
        net->zero_grad();
        ddp.forward<Checkpointed>(test::numbers({2, 3}, 5) * (group->rank() + 1)).sum().backward();
        ddp.checkFinalized();
        Checkpointed alone;
        const auto x = test::numbers({2, 3}, 5);
        (alone.forward(x).sum() / 2 + alone.forward(x * 2).sum() / 2).backward();
        EXPECT_TRUE(at::allclose(net->twice->weight.grad(), alone.twice->weight.grad(), 1e-4, 1e-6))
            << "iteration " << i;
        EXPECT_TRUE(at::allclose(net->once->weight.grad(), alone.once->weight.grad(), 1e-4, 1e-6));
        EXPECT_FALSE(net->never->weight.grad().defined());
      }
      EXPECT_TRUE(ddp.hasRebuiltBuckets());
    });
  }
}

TEST(StaticGraph, RebuildsBeforeTheThirdIterationInTheOrderOfTheSecond) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 5, 2});
    DistributedDataParallel ddp(net, group, staticGraph());
    EXPECT_EQ(ddp.plan().indices(), (Lists{{0, 1, 2, 3, 4, 5}}));
    std::vector<bool> rebuilt;
    for (int i = 0; i < 3; ++i) {
      ddp.forward<Net>(at::ones({1, 4})).sum().backward();
      rebuilt.push_back(ddp.hasRebuiltBuckets());
    }
    EXPECT_THAT(rebuilt, ElementsAre(false, false, true));
    EXPECT_EQ(ddp.plan().indices(), (Lists{{5, 4}, {3, 2}, {1, 0}}));
    EXPECT_TRUE(ddp.canSetStaticGraph());
  });
}

TEST(StaticGraph, GivesHooksTheirBucketsNumberInTheFirstIterationToo) {
  test::runRanksWell(1, [](auto group) {
    auto net = std::make_shared<TwoHeads>();
    net->right->to(at::kDouble);
    DdpOptions options = staticGraph();
    std::vector<std::pair<std::size_t, bool>> seen;
    options.hook = std::make_shared<test::FunctionHook>([&](hooks::GradBucket& bucket) {
      seen.emplace_back(bucket.index(), bucket.isLast());
      return test::done(bucket.buffer());
    });
    DistributedDataParallel ddp(net, group, options);
    auto output = ddp.run([&] {
      return net->left->forward(at::ones({1, 4})).sum() +
             net->right->forward(at::ones({1, 4}, at::kDouble)).sum();
    });
    output.backward();
    EXPECT_THAT(seen, ElementsAre(std::pair(0u, false), std::pair(1u, true)));
  });
}

TEST(StaticGraphErrors, NameParametersWithFewerGradientsThanAtFirst) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<TwoHeads>();
                               DistributedDataParallel ddp(net, group, staticGraph());
                               for (int i = 0; i < 2; ++i) {
                                 ddp.setStep(static_cast<std::uint32_t>(i));
                                 auto output = ddp.run([&] {
                                   auto [left, right] = net->forward(at::ones({1, 4}));
                                   return i == 0 ? left.sum() + right.sum() : left.sum();
                                 });
                                 output.backward();
                                 ddp.checkFinalized();
                               }
                             }),
              Each(AllOf(HasSubstr("step 1"), HasSubstr("'right.weight' (2), 'right.bias' (3)"),
                         HasSubstr("fewer gradients than the first"))));
}

TEST(StaticGraphErrors, NameAParameterWithMoreGradientsThanAtFirst) {
  EXPECT_THAT(test::runRanks(1,
                             [](auto group) {
                               auto net = std::make_shared<TwoHeads>();
                               DistributedDataParallel ddp(net, group, staticGraph());
                               for (int i = 0; i < 2; ++i) {
                                 auto output = ddp.run([&] {
                                   auto [left, right] = net->forward(at::ones({1, 4}));
                                   return i == 0 ? left.sum() : left.sum() + right.sum();
                                 });
                                 output.backward();
                               }
                             }),
              Each(AllOf(HasSubstr("parameter 'right."),
                         HasSubstr("got more gradients in the backward of step "),
                         HasSubstr("The graph changed, or the backward ran again: turn"))));
}

}  // namespace
}  // namespace lockstep::ddp
