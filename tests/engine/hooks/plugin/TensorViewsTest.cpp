#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/hooks/plugin/HookRanks.h"

namespace lockstep::hooks {
namespace {

TEST(TensorViews, LetAPluginWorkOnTheGradientsWithLibtorchAndSendATensorOfItsOwn) {
  const plugin::HookChoice choice{
      test::builtHook("tested_hooks/with_tensors.so", "with_tensors")};
  const auto errors = test::runHooks(3, choice, [](test::HookRank& rank) {
    rank.shape = {4, 5};
    const at::Tensor mean = rank.average(test::gradients(20, rank.rank));
    EXPECT_TRUE(at::allclose(mean, test::meanGradients(20, rank.world), 1e-5, 1e-6));
    double squares = 0;
    for (int other = 0; other < rank.world; ++other) {
      squares += (test::gradients(20, other) / rank.world).square().sum().item<double>();
    }
    const auto counters = rank.hook->takeCounters();
    EXPECT_EQ(counters.at("hook.matrices"), 1) << "the shape of the parameter did not come through";
    EXPECT_NEAR(counters.at("hook.squares"), squares, 1e-4);
  });
  EXPECT_THAT(errors, testing::Each(""));
}

}  // namespace
}  // namespace lockstep::hooks
