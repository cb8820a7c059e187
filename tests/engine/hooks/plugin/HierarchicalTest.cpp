#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::apart;
using test::HookRank;
using test::libraryHook;
using test::RankValues;
using test::runHooks;
using testing::Each;
using testing::HasSubstr;

class Levels : public testing::TestWithParam<std::tuple<const char*, int, int>> {};
INSTANTIATE_TEST_SUITE_P(Hierarchical, Levels,
                         testing::Values(std::tuple{"shards", 4, 2}, std::tuple{"leaders", 4, 2},
                                         std::tuple{"shards", 6, 3}, std::tuple{"leaders", 6, 3},
                                         std::tuple{"shards", 3, 3}, std::tuple{"leaders", 3, 3},
                                         std::tuple{"shards", 3, 1}, std::tuple{"leaders", 3, 1}));

TEST_P(Levels, GiveTheMeanOfAllRanksToEach) {
  const auto [between, world, node] = GetParam();
  constexpr std::int64_t kCount = 10007;
  RankValues results;
  const auto hook = libraryHook(
      "hierarchical", {{"between", std::string(between)}, {"ranks_per_node", double(node)}});
  const auto errors = runHooks(world, hook, [&](HookRank& rank) {
    for (std::uint32_t step = 0; step < 3; ++step) {
      const at::Tensor mean = rank.average(test::gradients(kCount, rank.rank, step), step);
      EXPECT_LT(apart(mean, test::meanGradients(kCount, rank.world, step)), 1e-5);
      results.add(step, mean);
    }
  });
  ASSERT_THAT(errors, Each(""));
  EXPECT_TRUE(results.allEqual(2));
}

TEST(Hierarchical, RefusesNodesThatDoNotDivideTheWorld) {
  const auto errors = runHooks(3, libraryHook("hierarchical", {{"ranks_per_node", 2.0}}),
                               [](HookRank&) { FAIL(); });
  EXPECT_THAT(errors, Each(HasSubstr("ranks_per_node is 2, which does not divide the world of 3")));
}

}  // namespace
}  // namespace lockstep::hooks
