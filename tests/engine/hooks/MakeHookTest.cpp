#include "engine/hooks/MakeHook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace lockstep::hooks {
namespace {

TEST(MakeHook, KnowsTheBuiltInHooksByName) {
  EXPECT_THAT(hookNames(), testing::ElementsAre("allreduce", "noop"));
  EXPECT_EQ(makeHook("noop", {}).value()->name(), "noop");
}

TEST(MakeHook, ListsTheNamesWhenThereIsNoSuchHook) {
  const auto result = makeHook("alreduce", {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message(),
            "hook.name: there is no communication hook 'alreduce'; the hooks are allreduce, noop");
  EXPECT_EQ(result.error().code, base::ExitCode::kBadInput);
}

TEST(MakeHook, KnowsWhichHookLetsReplicasDrift) {
  EXPECT_TRUE(replicasDrift("noop"));
  EXPECT_FALSE(replicasDrift("allreduce"));
}

TEST(NoopHook, ReturnsTheBucketAsItIs) {
  const auto hook = makeHook("noop", {}).value();
  GradBucket bucket(0, 1, 0, at::ones({3}), {0}, {3}, {{3}}, {at::zeros({3})}, {0});
  const auto future = hook->run(bucket);
  ASSERT_TRUE(future.completed());
  EXPECT_TRUE(future.value().is_same(bucket.buffer()));
}

}  // namespace
}  // namespace lockstep::hooks
