// A device's clock is tied to the host's by what cannot have been otherwise.

#include <gtest/gtest.h>

extern "C" {
#include "engine/observer/native/nccl/device_clock.h"
}

namespace lockstep {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kOffset = -5'000;  // of the device's clock to the host's

lk_device_clock clockWith(std::int64_t host, std::int64_t waited, std::int64_t heardAfter) {
  lk_device_clock clock{};
  lk_device_clock_not_after(&clock, host - kOffset, host + heardAfter);
  lk_device_clock_not_before(&clock, host - kOffset, host - waited);
  return clock;
}

TEST(DeviceClock, StandsAsLateAsItCanAndSaysHowLateThatIs) {
  const lk_device_clock clock = clockWith(kSecond, 300, 40);
  const lk_device_offset offset = lk_device_clock_offset(&clock, kSecond);
  EXPECT_EQ(offset.offset, kOffset + 40);
  EXPECT_EQ(offset.late_by, 340);
}

TEST(DeviceClock, KeepsTheTightestOfEachSide) {
  lk_device_clock clock = clockWith(kSecond, 300, 40);
  lk_device_clock_not_after(&clock, kSecond + 100 - kOffset, kSecond + 100 + 500);
  lk_device_clock_not_before(&clock, kSecond + 200 - kOffset, kSecond + 200 - 10);
  const lk_device_offset offset = lk_device_clock_offset(&clock, kSecond + 200);
  EXPECT_EQ(offset.offset, kOffset + 40);
  EXPECT_EQ(offset.late_by, 50);
}

TEST(DeviceClock, TrustsABoundLessAsItGrowsOld) {
  lk_device_clock clock = clockWith(kSecond, 300, 40);
  const lk_device_offset later = lk_device_clock_offset(&clock, 2 * kSecond);
  EXPECT_NEAR(static_cast<double>(later.late_by), 340 + 2 * 50'000, 200);
  // A worse one of now replaces one that may have drifted further.
  lk_device_clock_not_after(&clock, 2 * kSecond - kOffset, 2 * kSecond + 20'000);
  EXPECT_EQ(lk_device_clock_offset(&clock, 2 * kSecond).offset, kOffset + 20'000);
}

TEST(DeviceClock, KnowsOneSideAloneWhereNobodyToldOfTheCall) {
  lk_device_clock clock{};
  lk_device_clock_not_after(&clock, kSecond - kOffset, kSecond + 40);
  EXPECT_EQ(lk_device_clock_offset(&clock, kSecond).offset, kOffset + 40);
  EXPECT_LT(lk_device_clock_offset(&clock, kSecond).late_by, 0);
}

TEST(DeviceClock, BeginsAnewWhereAClockWasSet) {
  for (const std::int64_t jump : {-kSecond, kSecond}) {
    lk_device_clock clock = clockWith(10 * kSecond, 300, 40);
    const std::int64_t device = 10 * kSecond + 1000 - kOffset + jump;
    lk_device_clock_not_after(&clock, device, 10 * kSecond + 1000 + 70);
    lk_device_clock_not_before(&clock, device, 10 * kSecond + 1000 - 30);
    lk_device_clock_not_after(&clock, device + 10, 10 * kSecond + 1010 + 60);
    const lk_device_offset offset = lk_device_clock_offset(&clock, 10 * kSecond + 1000);
    EXPECT_EQ(offset.offset, kOffset - jump + 60) << jump;
    EXPECT_EQ(offset.late_by, 90) << jump;
  }
}

}  // namespace
}  // namespace lockstep
