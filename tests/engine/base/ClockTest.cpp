#include "engine/base/Clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace lockstep::base {
namespace {

TEST(ClockTest, NeverGoesBackOnOneThread) {
  std::uint64_t last = ticks();
  bool ordered = true;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t now = ticks();
    ordered &= now >= last;
    last = now;
  }
  EXPECT_TRUE(ordered);
}

TEST(ClockTest, NeverGoesBackFromOneThreadToAnother) {
  bool ordered = true;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t before = ticks();
    std::uint64_t there = 0;
    std::thread other([&] { there = ticks(); });
    other.join();
    ordered &= before <= there && there <= ticks();
  }
  EXPECT_TRUE(ordered);
}

TEST(ClockTest, ConvertsTicksToTheMonotonicAxis) {
  const ClockReading first = readClock();
  while (monotonicNs() - first.ns < 20'000'000) {
  }
  const ClockCalibration calibration = calibrate(first, readClock());
  const ClockReading later = readClock();
  EXPECT_LT(std::llabs(calibration.toNs(later.ticks) - later.ns), 100'000);
  EXPECT_GT(calibration.nsPerTick, 0);
}

TEST(ClockTest, GivesOneTickANanosecondWhenTheReadingsAreTooClose) {
  const ClockCalibration calibration = calibrate({1'000, 50}, {2'000, 60});
  EXPECT_EQ(calibration.nsPerTick, 1.0);
  EXPECT_EQ(calibration.toNs(1'500), 550);
}

TEST(ClockTest, CalibratesByTheSlopeOfTwoReadings) {
  const ClockCalibration calibration =
      calibrate({1'000, 0}, {5'000'000'000 + 1'000, 2'500'000'000});
  EXPECT_EQ(calibration.nsPerTick, clockSource() == ClockSource::kTsc ? 0.5 : 1.0);
}

TEST(ClockTest, ConvertsTimesBeforeItsOrigin) {
  const ClockCalibration calibration{1'000, 10'000, 0.5};
  EXPECT_EQ(calibration.toNs(800), 9'900);
  EXPECT_EQ(calibration.durationNs(300), 150);
}

}  // namespace
}  // namespace lockstep::base
