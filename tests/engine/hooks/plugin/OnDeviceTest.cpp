// Hooks of the library over memory that they cannot reach themselves (tests/plugins/out_of_reach),
// beside the same hooks on the CPU.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "engine/hooks/HookError.h"
#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::apart;
using test::builtHook;
using test::HookRank;
using test::libraryHook;
using test::runHooks;
using test::Values;
using testing::Each;

constexpr int kDeviceWorld = 3;
constexpr std::int64_t kDeviceCount = 1200;

plugin::HookChoice outOfReach(const std::string& id, Values values = {}) {
  return {builtHook("tested_hooks/out_of_reach_" + id + ".so", id, std::move(values))};
}

/// What rank 0 gets in each of `steps` steps.
std::vector<at::Tensor> averages(const plugin::HookChoice& choice, std::uint32_t steps,
                                 std::vector<std::int64_t> shape = {}) {
  std::vector<at::Tensor> results;
  const auto errors = runHooks(kDeviceWorld, choice, [&](HookRank& rank) {
    rank.shape = shape;
    for (std::uint32_t step = 0; step < steps; ++step) {
      const at::Tensor mean = rank.average(test::gradients(kDeviceCount, rank.rank, step), step);
      if (rank.rank == 0) {
        results.push_back(mean.clone());
      }
    }
  });
  EXPECT_THAT(errors, Each(""));
  return results;
}

class OnDevice : public testing::TestWithParam<const char*> {};

TEST_P(OnDevice, ExactHooksGiveTheBitsThatTheyGiveOnTheCpu) {
  const auto there = averages(outOfReach(GetParam()), 3);
  const auto here = averages(libraryHook(GetParam()), 3);
  ASSERT_EQ(there.size(), 3U);
  for (std::size_t step = 0; step < there.size(); ++step) {
    EXPECT_TRUE(at::equal(there[step], here[step])) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Hooks, OnDevice, testing::Values("allreduce", "fp16", "bf16"),
                         [](const auto& info) { return info.param; });

struct Kind {
  const char* name;
  Values values;
  std::vector<std::int64_t> shape;
};

class PowerSgdOnDevice : public testing::TestWithParam<Kind> {};

TEST_P(PowerSgdOnDevice, TakesTheStepsThatItTakesOnTheCpu) {
  const Kind& kind = GetParam();
  const auto there = averages(outOfReach("powersgd", kind.values), 12, kind.shape);
  const auto here = averages(libraryHook("powersgd", kind.values), 12, kind.shape);
  ASSERT_EQ(there.size(), 12U);
  for (std::size_t step = 0; step < there.size(); ++step) {
    EXPECT_LT(apart(there[step], here[step]), 1e-4) << "step " << step;
  }
  EXPECT_GT(apart(there[11], test::meanGradients(kDeviceCount, kDeviceWorld, 11)), 1e-2)
      << "nothing was compressed";
}

TEST_P(PowerSgdOnDevice, GoesOnFromItsStateThereAndOnTheCpu) {
  const Kind& kind = GetParam();
  std::mutex mutex;
  std::map<int, std::string> saved;
  std::vector<at::Tensor> expected;
  const auto steps = [](HookRank& rank, std::uint32_t first) {
    at::Tensor sum = at::zeros({kDeviceCount});
    for (std::uint32_t step = first; step < first + 4; ++step) {
      sum += rank.average(test::gradients(kDeviceCount, rank.rank, step), step);
    }
    return sum;
  };
  auto errors = runHooks(kDeviceWorld, outOfReach("powersgd", kind.values), [&](HookRank& rank) {
    rank.shape = kind.shape;
    (void)steps(rank, 2);
    const std::string state = rank.hook->save();
    const at::Tensor sum = steps(rank, 6);
    rank.hook->load(state, kDeviceWorld);
    EXPECT_TRUE(at::equal(steps(rank, 6), sum)) << "from what was saved on the device";
    const std::lock_guard lock(mutex);
    saved[rank.rank] = state;
    expected.push_back(sum);
  });
  ASSERT_THAT(errors, Each(""));
  errors = runHooks(kDeviceWorld, libraryHook("powersgd", kind.values), [&](HookRank& rank) {
    rank.shape = kind.shape;
    rank.hook->load(saved[rank.rank], kDeviceWorld);
    EXPECT_LT(apart(steps(rank, 6), expected.front()), 1e-4) << "on the CPU";
  });
  EXPECT_THAT(errors, Each(""));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, PowerSgdOnDevice,
    testing::Values(Kind{"OfMatrices", {{"rank", 3.0}, {"start", 2.0}}, {30, 40}},
                    Kind{"WithoutFeedback",
                         {{"rank", 2.0}, {"start", 2.0}, {"error_feedback", 0.0}},
                         {30, 40}},
                    Kind{"Batched", {{"rank", 2.0}, {"start", 2.0}, {"batched", 1.0}}, {}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(OnDeviceDouble, TakesNoHookThatDoesNotSayItTakesDevices) {
  const auto errors = runHooks(1, outOfReach("topk"), [](HookRank&) {});
  EXPECT_THAT(errors, Each(testing::HasSubstr("its init() refused with status -2")));
}

}  // namespace
}  // namespace lockstep::hooks
