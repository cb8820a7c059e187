#include "engine/analysis/RecordedHook.h"

#include <gmock/gmock.h>

namespace lockstep::analysis {
namespace {

using testing::HasSubstr;

/// Two ranks, two steps, and buckets of 1000 and 2000 bytes that take 1 ns a byte one after the
/// other; every bucket's bytes are halved before they travel.
RecordedSteps halvingRun() {
  RecordedSteps of;
  of.settings.worldSize = 2;
  of.settings.experiment.hook.name = "fp16";
  of.layout.step = 1;
  for (std::uint32_t step = 2; step < 4; ++step) {
    cost::StepRecord record;
    record.step = step;
    record.ranks.resize(2);
    double at = 0;
    for (const std::uint64_t bytes : {1000u, 2000u}) {
      const double end = at + static_cast<double>(bytes);
      record.buckets.push_back({{0}, bytes, {{at, at, end, end, end}, {at, at, end, end, end}}});
      at = end + 1000;
      if (step == 2) {
        of.layout.buckets.emplace_back().bytes = bytes;
      }
    }
    of.steps.push_back({record, 0.5});
  }
  return of;
}

/// 2 ns a byte to encode, 1 to decode, and 300 ns around each step.
HookTimes hookTimesOfSteps() {
  HookTimes of;
  for (std::uint32_t step = 2; step < 4; ++step) {
    for (const std::uint16_t bucket : {0, 1}) {
      HookCall call{0, step, bucket};
      call.ms[static_cast<std::size_t>(HookPhase::kEncode)] = bucket == 0 ? 0.002 : 0.004;
      call.ms[static_cast<std::size_t>(HookPhase::kDecode)] = bucket == 0 ? 0.001 : 0.002;
      of.calls.push_back(call);
    }
    HookCall around{0, step, trace::kNoBucket};
    around.ms[static_cast<std::size_t>(HookPhase::kEncode)] = 0.0003;
    of.calls.push_back(around);
  }
  return of;
}

TEST(RecordedHookTest, FitsItsWorkToTheBytesOfBuckets) {
  const auto work = hookWork(halvingRun(), hookTimesOfSteps());
  ASSERT_TRUE(work.ok()) << work.error().what;
  EXPECT_EQ(work.value().share, 0.5);
  EXPECT_NEAR(work.value().encode.nsPerByte, 2, 1e-9);
  EXPECT_NEAR(work.value().decode.nsPerByte, 1, 1e-9);
  EXPECT_NEAR(work.value().transfer->nsPerByte, 1, 1e-9);
  EXPECT_NEAR(work.value().aroundStepNs, 300, 1e-9);
  EXPECT_NEAR(work.value().offNs, 0, 1e-9);
}

TEST(RecordedHookTest, SaysWhatWasNotRecorded) {
  EXPECT_EQ(hookWork(halvingRun(), {}).error().what,
            "the run with that hook recorded nothing of what it does with buckets");
  RecordedSteps none = halvingRun();
  none.steps.clear();
  EXPECT_EQ(hookWork(none, hookTimesOfSteps()).error().what,
            "no transfer of a bucket was recorded by all ranks of the run with that hook");
}

TEST(RecordedHookTest, AnotherLinkLeavesTheHooksOwnWork) {
  const RecordedHook hook{halvingRun().settings,
                          hookWork(halvingRun(), hookTimesOfSteps()).value()};
  RecordedSettings settings = halvingRun().settings;
  cost::StepChange change;
  ASSERT_TRUE(changeHook(settings, hook, change).ok());
  EXPECT_TRUE(change.hook->transfer);
  settings.experiment.link.bandwidthGbps = 2;
  ASSERT_TRUE(changeHook(settings, hook, change).ok());
  EXPECT_FALSE(change.hook->transfer);
  EXPECT_NEAR(change.hook->encode.nsPerByte, 2, 1e-9);
  settings.worldSize = 4;
  EXPECT_THAT(changeHook(settings, hook, change).error().what,
              HasSubstr("it has 4 ranks, and the run with that hook 2"));
}

}  // namespace
}  // namespace lockstep::analysis
