#include "engine/hooks/plugin/PluginHook.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/Clock.h"
#include "engine/hooks/HookError.h"
#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"
#include "tests/engine/hooks/plugin/HookRanks.h"
#include "tests/engine/process_group/nccl/FakePlatform.h"
#include "tests/support/RankRecording.h"

namespace lockstep::hooks {
namespace {

using test::builtHook;
using test::HookRank;
using test::runHooks;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

plugin::HookChoice fp16() {
  return {builtHook("hooks/fp16.so", "fp16")};
}

TEST(PluginHook, AveragesManyBucketsOfManyStepsInFlightAtOnce) {
  const auto errors = runHooks(3, fp16(), [](HookRank& rank) {
    constexpr std::uint32_t kBuckets = 6;
    for (std::uint32_t step = 0; step < 10; ++step) {
      std::vector<base::Future<at::Tensor>> futures;
      for (std::uint32_t index = 0; index < kBuckets; ++index) {
        const std::int64_t count = 100 * (index + 1);
        futures.push_back(rank.start(test::gradients(count, rank.rank, step * kBuckets + index),
                                     step, index, kBuckets));
      }
      for (std::uint32_t index = 0; index < kBuckets; ++index) {
        ASSERT_TRUE(futures[index].waitFor(std::chrono::seconds(10)));
        const std::int64_t count = 100 * (index + 1);
        EXPECT_TRUE(at::allclose(
            futures[index].value(),
            test::meanGradients(count, rank.world, step * kBuckets + index), 1e-2, 5e-3));
      }
    }
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(PluginHook, RecordsThePhasesOfEachBucket) {
  support::RankRecording recording;
  const auto errors = runHooks(
      2, fp16(), [](HookRank& rank) { rank.average(test::gradients(1000, rank.rank), 7, 2, 3); },
      &recording.tracer());
  EXPECT_THAT(errors, Each(""));
  std::vector<trace::EventKind> kinds;
  const auto lanes = recording.lanes();
  for (const trace::Event& event : lanes.at("hook")) {
    kinds.push_back(static_cast<trace::EventKind>(event.kind));
    EXPECT_EQ(event.step, 7U);
    EXPECT_EQ(event.bucket, 2U);
    EXPECT_EQ(event.value, kinds.back() == trace::EventKind::kHookCommunicate ? 2000U : 4000U);
  }
  EXPECT_THAT(kinds, testing::ElementsAre(trace::EventKind::kHookEncode,
                                          trace::EventKind::kHookCommunicate,
                                          trace::EventKind::kHookDecode));
}

TEST(PluginHook, RecordsThePhasesOnADeviceByItsClock) {
  namespace nccl = process_group::nccl;
  const auto errors = runHooks(2, fp16(), [](HookRank& rank) {
    const nccl::FakeFabric fabric;
    nccl::FakeDeviceOptions device;
    device.clockOffsetNs = 123'456'789'012;
    const nccl::FakePlatform platform(fabric, device);
    support::RankRecording recording;
    PluginHookOptions options;
    options.choice = fp16();
    options.groups = {std::make_shared<process_group::Subgroups>(rank.group, "gloo", nullptr,
                                                                 process_group::GroupOptions{})};
    options.tracer = &recording.tracer();
    options.deviceSpans = std::make_shared<device::DeviceSpans>(platform.device());
    rank.hook = std::make_unique<PluginHook>(std::move(options));
    const std::uint64_t before = base::ticks();
    rank.average(test::gradients(1000, rank.rank), 7, 2, 3);
    const std::uint64_t after = base::ticks();
    rank.hook.reset();
    std::vector<trace::EventKind> kinds;
    constexpr std::uint64_t slack = 40'000'000;
    const auto lanes = recording.lanes();
    for (const trace::Event& event : lanes.at("hook")) {
      kinds.push_back(static_cast<trace::EventKind>(event.kind));
      EXPECT_EQ(event.detail, trace::kByDevice);
      EXPECT_GE(event.startTicks + slack, before) << "on the host's axis";
      EXPECT_LE(event.startTicks + event.durationTicks, after + slack);
    }
    EXPECT_THAT(kinds, testing::ElementsAre(trace::EventKind::kHookEncode,
                                            trace::EventKind::kHookCommunicate,
                                            trace::EventKind::kHookDecode));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(PluginHook, RefusesBucketsOfADtypeThatTheHookDoesNotTake) {
  const auto errors =
      runHooks(1, fp16(), [](HookRank& rank) { rank.average(at::zeros({4}, at::kDouble)); });
  EXPECT_THAT(errors, Each(HasSubstr("does not take buckets of Double")));
}

TEST(PluginHook, RefusesBucketsOnADeviceThatTheHookDoesNotTake) {
  const auto errors = runHooks(1, {builtHook("hooks/topk.so", "topk")}, [](HookRank& rank) {
    rank.start(at::zeros({4}, at::Device(at::kMeta)));
  });
  EXPECT_THAT(errors, ElementsAre("hook 'topk' does not take buckets on meta; set processes.device "
                                  "to a device that it takes"));
}

TEST(PluginHook, RefusesAHookThatTheLibraryHasNot) {
  const auto errors =
      runHooks(1, {builtHook("hooks/fp16.so", "fp8")}, [](HookRank&) { FAIL(); });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("fp16.so"), HasSubstr("has no hook 'fp8'"))));
}

TEST(PluginHook, RefusesAHookInsideOneThatTakesNone) {
  const auto errors =
      runHooks(1, {builtHook("hooks/noop.so", "noop"), builtHook("hooks/fp16.so", "fp16")},
               [](HookRank&) { FAIL(); });
  EXPECT_THAT(errors, Each(HasSubstr("hook 'noop' takes no other hook inside")));
}

TEST(PluginHook, DividesByWhatTheBucketSaysAndNotByTheWorld) {
  const auto errors =
      runHooks(2, {builtHook("hooks/allreduce.so", "allreduce")}, [](HookRank& rank) {
        BucketFacts facts;
        facts.divisor = 4;
        const auto future = rank.start(at::ones({4}), 0, 0, 1, facts);
        ASSERT_TRUE(future.waitFor(std::chrono::seconds(10)));
        EXPECT_TRUE(at::equal(future.value(), at::full({4}, 0.5F)));
      });
  EXPECT_THAT(errors, Each(""));
}

TEST(PluginHook, HasNoStateWhereTheHookHasNone) {
  const auto errors = runHooks(1, fp16(), [](HookRank& rank) {
    EXPECT_EQ(rank.hook->save(), "");
    rank.hook->load("", 1);
    EXPECT_THROW(rank.hook->load("something else", 1), HookError);
    EXPECT_FALSE(rank.hook->ownsUpdate());
  });
  EXPECT_THAT(errors, Each(""));
}

}  // namespace
}  // namespace lockstep::hooks
