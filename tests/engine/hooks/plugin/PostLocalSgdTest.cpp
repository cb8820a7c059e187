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

constexpr std::int64_t kLocalSgdCount = 200;
constexpr double kRate = 0.1;

/// Of half the squared distance to a point of each rank's own.
at::Tensor pull(const HookRank& rank, const at::Tensor& parameter) {
  return parameter - test::gradients(kLocalSgdCount, rank.rank);
}

TEST(PostLocalSgd, IsSynchronousSgdWhenItAveragesAfterEveryStep) {
  const auto hook = libraryHook("post_local_sgd", {{"start", 0.0}, {"period", 1.0}});
  const auto errors = runHooks(3, hook, [](HookRank& rank) {
    const at::Tensor parameter = at::ones({kLocalSgdCount});
    rank.train(parameter, 0, 10, kRate,
               [&](const at::Tensor& now, std::uint32_t) { return pull(rank, now); });
    at::Tensor expected = at::ones({kLocalSgdCount});
    for (int step = 0; step < 10; ++step) {
      expected = expected - kRate * (expected - test::meanGradients(kLocalSgdCount, 3));
    }
    EXPECT_LT(apart(parameter, expected), 1e-6);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(PostLocalSgd, AveragesGradientsUntilItStartsAndThenLeavesThem) {
  const auto hook = libraryHook("post_local_sgd", {{"start", 3.0}});
  const auto errors = runHooks(2, hook, [](HookRank& rank) {
    const at::Tensor own = test::gradients(kLocalSgdCount, rank.rank);
    EXPECT_LT(apart(rank.average(own.clone(), 2), test::meanGradients(kLocalSgdCount, 2)), 1e-6);
    EXPECT_TRUE(at::equal(rank.average(own.clone(), 3), own));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(PostLocalSgd, BringsReplicasTogetherEachPeriodFromItsStartOn) {
  RankValues parameters;
  const auto hook = libraryHook("post_local_sgd", {{"start", 2.0}, {"period", 3.0}});
  const auto errors = runHooks(3, hook, [&](HookRank& rank) {
    const at::Tensor parameter = at::ones({kLocalSgdCount});
    rank.train(
        parameter, 0, 10, kRate,
        [&](const at::Tensor& now, std::uint32_t) { return pull(rank, now); },
        [&](std::uint32_t step) { parameters.add(step, parameter); });
  });
  ASSERT_THAT(errors, Each(""));
  std::vector<std::uint32_t> together;
  for (std::uint32_t step = 0; step < 10; ++step) {
    if (parameters.allEqual(step)) {
      together.push_back(step);
    }
  }
  EXPECT_THAT(together, testing::ElementsAre(0, 1, 2, 5, 8));
  EXPECT_GT(parameters.spread(4), parameters.spread(3)) << "they drift apart within a period";
}

TEST(PostLocalSgd, AveragesGradientsWithinANode) {
  const auto hook = libraryHook("post_local_sgd", {{"start", 0.0}, {"ranks_per_node", 2.0}});
  const auto errors = runHooks(4, hook, [](HookRank& rank) {
    const int first = rank.rank / 2 * 2;
    const at::Tensor expected =
        (test::gradients(kLocalSgdCount, first) + test::gradients(kLocalSgdCount, first + 1)) / 2;
    EXPECT_LT(apart(rank.average(test::gradients(kLocalSgdCount, rank.rank)), expected), 1e-6);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(PostLocalSgd, IsDdpWhenTheWorldIsOneNode) {
  const auto hook =
      libraryHook("post_local_sgd", {{"start", 0.0}, {"period", 1000.0}, {"ranks_per_node", 3.0}});
  const auto errors = runHooks(3, hook, [](HookRank& rank) {
    EXPECT_LT(
        apart(rank.average(test::gradients(kLocalSgdCount, rank.rank), 7), test::meanGradients(kLocalSgdCount, 3)),
        1e-6);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(PostLocalSgd, RefusesNodesThatDoNotDivideTheWorld) {
  const auto errors = runHooks(3, libraryHook("post_local_sgd", {{"ranks_per_node", 2.0}}),
                               [](HookRank&) { FAIL(); });
  EXPECT_THAT(errors, Each(HasSubstr("ranks_per_node is 2, which does not divide the world of 3")));
}

TEST(PostLocalSgd, SendsOneAllreducePerPeriodAndNothingElse) {
  const auto hook = libraryHook("post_local_sgd", {{"start", 0.0}, {"period", 4.0}});
  const auto errors = runHooks(4, hook, [](HookRank& rank) {
    constexpr std::int64_t kMany = 1 << 20;
    const at::Tensor parameter = at::zeros({kMany});
    const at::Tensor gradient = at::ones({kMany});
    rank.train(parameter, 0, 8, kRate, [&](const at::Tensor&, std::uint32_t) { return gradient; });
    const double perAllreduce = 2.0 * kMany * 4 * 3 / 4;
    EXPECT_NEAR(static_cast<double>(rank.sentBytes()), 2 * perAllreduce, 0.001 * perAllreduce);
  });
  EXPECT_THAT(errors, Each(""));
}

}  // namespace
}  // namespace lockstep::hooks
