#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hooks/plugin/detail/HookStates.h"
#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::HookRank;
using test::libraryHook;
using test::runHooks;
using test::Values;
using testing::Each;

struct Keeping {
  const char* id;
  Values values;
  std::string optimizer;
  std::uint32_t firstStep;
};

class HookState : public testing::TestWithParam<Keeping> {
 protected:
  static constexpr std::int64_t kCount = 1200;

  [[nodiscard]] plugin::HookChoice hook() const {
    return libraryHook(GetParam().id, GetParam().values);
  }

  /// Three steps from `first` on; returns the parameter.
  static at::Tensor train(HookRank& rank, const at::Tensor& from, std::uint32_t first) {
    rank.shape = {30, 40};
    OptimizerFacts optimizer;
    optimizer.kind = GetParam().optimizer;
    optimizer.learningRate = 0.1;
    optimizer.momentum = GetParam().id == std::string("zero_rs") ? 0.9 : 0;
    optimizer.beta1 = 0.9;
    optimizer.beta2 = 0.99;
    optimizer.epsilon = 1e-8;
    rank.hook->configure(optimizer);
    const at::Tensor parameter = from.clone();
    rank.train(parameter, first, first + 3, 0.1, [&](const at::Tensor&, std::uint32_t step) {
      return test::gradients(kCount, rank.rank, step);
    });
    return parameter;
  }
};

TEST_P(HookState, ContinuesWhereItWasSaved) {
  constexpr int kWorld = 2;
  const std::uint32_t first = GetParam().firstStep;
  std::array<std::string, kWorld> states;
  std::array<at::Tensor, kWorld> middle;
  std::array<at::Tensor, kWorld> expected;
  ASSERT_THAT(runHooks(kWorld, hook(),
                       [&](HookRank& rank) {
                         const auto own = static_cast<std::size_t>(rank.rank);
                         middle.at(own) = train(rank, at::ones({kCount}), first);
                         states.at(own) = rank.hook->save();
                         expected.at(own) = train(rank, middle.at(own), first + 3);
                         rank.hook->endOfRun(first + 6);
                       }),
              Each(""));
  ASSERT_THAT(
      runHooks(kWorld, hook(),
               [&](HookRank& rank) {
                 const auto own = static_cast<std::size_t>(rank.rank);
                 rank.hook->load(states.at(own), kWorld);
                 EXPECT_EQ(rank.hook->save(), states.at(own));
                 EXPECT_TRUE(at::equal(train(rank, middle.at(own), first + 3), expected.at(own)));
                 rank.hook->endOfRun(first + 6);
               }),
      Each(""));
  ASSERT_THAT(
      runHooks(kWorld, hook(),
               [&](HookRank& rank) {
                 const auto own = static_cast<std::size_t>(rank.rank);
                 EXPECT_FALSE(at::equal(train(rank, middle.at(own), first + 3), expected.at(own)))
                     << "the state makes no difference";
                 rank.hook->endOfRun(first + 6);
               }),
      Each(""));
}

TEST_P(HookState, IsRefusedWhenItIsCutShort) {
  EXPECT_THAT(
      runHooks(1, hook(),
               [&](HookRank& rank) {
                 train(rank, at::ones({kCount}), GetParam().firstStep);
                 std::string state = rank.hook->save();
                 state.resize(state.size() - 1);
                 rank.hook->endOfRun(GetParam().firstStep + 3);
                 rank.hook->load(state, 1);
               }),
      Each(testing::AnyOf(testing::HasSubstr("ends too early"), testing::HasSubstr("cut short"))));
}

TEST_P(HookState, OfAnotherWorldIsRefusedWhereItBelongsToRanks) {
  std::string state;
  ASSERT_THAT(runHooks(1, hook(),
                       [&](HookRank& rank) {
                         train(rank, at::ones({kCount}), GetParam().firstStep);
                         state = rank.hook->save();
                       }),
              Each(""));
  // The mean in flight is the same on all ranks.
  const bool ofAnyWorld = GetParam().id == std::string("delayed");
  const auto errors = runHooks(2, hook(), [&](HookRank& rank) { rank.hook->load(state, 2); });
  EXPECT_THAT(errors, Each(testing::HasSubstr(
                          ofAnyWorld ? "" : "saved on 1 ranks and there are 2 now")));
  EXPECT_EQ(errors[0].empty(), ofAnyWorld) << errors[0];
}

TEST(HookStates, OfAnotherHookAreRefused) {
  const auto load = [](const char* into, const char* from) {
    const detail::HookStates states{{{from, 1, "bytes"}}};
    return runHooks(1, libraryHook(into),
                    [&](HookRank& rank) { rank.hook->load(states.toBytes(), 1); });
  };
  EXPECT_THAT(load("topk", "randomk"), Each("hook 'topk': the checkpoint holds no state of it"));
  EXPECT_THAT(load("fp16", "fp16"),
              Each("hook 'fp16': the checkpoint holds a state that it cannot read"));
}

INSTANTIATE_TEST_SUITE_P(Hooks, HookState,
                         testing::Values(Keeping{"topk", {{"density", 0.05}}, "sgd", 0},
                                         Keeping{"randomk", {{"density", 0.05}}, "sgd", 0},
                                         Keeping{"dgc", {{"density", 0.05}}, "sgd", 0},
                                         Keeping{"ef_sign", {}, "sgd", 0},
                                         Keeping{"powersgd", {{"start", 2.0}}, "sgd", 2},
                                         Keeping{"onebit", {{"warmup", 2.0}}, "adam", 0},
                                         Keeping{"delayed", {}, "sgd", 0},
                                         Keeping{"zero_rs", {}, "sgd", 0}),
                         [](const auto& info) { return std::string(info.param.id); });

}  // namespace
}  // namespace lockstep::hooks
