#include "ui/chart/TimeAxis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace lockstep::ui {
namespace {

struct Mapping {
  double startNs, endNs, left, width;
  double ns, x;
};

class TimeAxisMapping : public testing::TestWithParam<Mapping> {};

TEST_P(TimeAxisMapping, GoesFromTimeToPixelsAndBack) {
  const Mapping& m = GetParam();
  const TimeAxis axis(m.startNs, m.endNs, m.left, m.width);
  EXPECT_NEAR(axis.toX(m.ns), m.x, 1e-6);
  EXPECT_NEAR(axis.toNs(m.x), m.ns, std::max(1e-6, axis.nsPerPixel() * 1e-6));
}

INSTANTIATE_TEST_SUITE_P(
    Table, TimeAxisMapping,
    testing::Values(Mapping{0, 1000, 0, 1000, 250, 250}, Mapping{0, 1000, 128, 500, 1000, 628},
                    Mapping{0, 1000, 128, 500, 0, 128}, Mapping{0, 1000, 128, 500, -100, 78},
                    Mapping{1e9, 2e9, 100, 1000, 1.5e9, 600},
                    // A day into a run, ten nanoseconds wide.
                    Mapping{86'400e9, 86'400e9 + 10, 0, 1000, 86'400e9 + 3, 300}));

TEST(TimeAxis, KeepsTheTimeUnderTheCursorWhenItZooms) {
  TimeAxis axis(0, 10e9, 128, 900);
  const double x = 700;
  const double ns = axis.toNs(x);
  for (int i = 0; i < 30; ++i) {
    axis = axis.zoomed(0.6, x);
    ASSERT_NEAR(axis.toX(ns), x, 0.01) << "after " << i + 1 << " steps";
  }
  for (int i = 0; i < 30; ++i) {
    axis = axis.zoomed(1.7, x);
  }
  EXPECT_NEAR(axis.toX(ns), x, 0.01);
}

TEST(TimeAxis, ZoomsDownToTenNanosecondsAndNoFurther) {
  TimeAxis axis(0, 10e9, 0, 1000);
  for (int i = 0; i < 200; ++i) {
    axis = axis.zoomed(0.5, 300);
  }
  EXPECT_DOUBLE_EQ(axis.lengthNs(), TimeAxis::kMinimumNs);
  EXPECT_DOUBLE_EQ(axis.labelStepNs(), 1) << "labels stand on whole nanoseconds";
}

TEST(TimeAxis, PansByPixels) {
  const TimeAxis axis = TimeAxis(0, 1000, 0, 500).panned(50);
  EXPECT_DOUBLE_EQ(axis.startNs(), 100);
  EXPECT_DOUBLE_EQ(axis.endNs(), 1100);
}

TEST(TimeAxis, StaysInSightOfItsContent) {
  const auto clamped = [](double start, double end) {
    return TimeAxis(start, end, 0, 100).clamped(0, 1000);
  };
  EXPECT_DOUBLE_EQ(clamped(200, 300).startNs(), 200) << "inside nothing changes";
  EXPECT_DOUBLE_EQ(clamped(5000, 5100).startNs(), 990) << "a tenth of the view stays filled";
  EXPECT_DOUBLE_EQ(clamped(-5100, -5000).endNs(), 10);
  const TimeAxis wide = clamped(-1e6, 1e6);
  EXPECT_DOUBLE_EQ(wide.lengthNs(), 1200);
  EXPECT_DOUBLE_EQ(wide.startNs(), -100) << "centred";
}

struct Ticks {
  double lengthNs;
  double stepNs;
};

class TimeAxisTicks : public testing::TestWithParam<Ticks> {};

TEST_P(TimeAxisTicks, StandOnOneTwoOrFiveTimesAPowerOfTen) {
  const TimeAxis axis(0, GetParam().lengthNs, 0, 1000);
  EXPECT_DOUBLE_EQ(axis.labelStepNs(90), GetParam().stepNs);
  double previous = -1;
  int labels = 0;
  for (const TimeAxis::Tick& tick : axis.ticks(90)) {
    EXPECT_GT(tick.ns, previous);
    EXPECT_GE(tick.x, -1e-6);
    EXPECT_LE(tick.x, 1000 + 1e-6);
    previous = tick.ns;
    if (tick.major) {
      ++labels;
      EXPECT_NEAR(std::remainder(tick.ns, GetParam().stepNs), 0, GetParam().stepNs * 1e-9);
    }
  }
  EXPECT_GE(labels, 4);
  EXPECT_LE(labels, 12);
}

INSTANTIATE_TEST_SUITE_P(Table, TimeAxisTicks,
                         testing::Values(Ticks{50, 5}, Ticks{100, 10}, Ticks{1e3, 100},
                                         Ticks{2e3, 200}, Ticks{5e3, 500}, Ticks{60e6, 10e6},
                                         Ticks{1e9, 100e6}, Ticks{3.6e12, 500e9}));

TEST(TimeAxis, HoldsWithNoWidthAndNoLength) {
  const TimeAxis axis(5, 5, 100, 0);
  EXPECT_TRUE(std::isfinite(axis.toX(5)));
  EXPECT_TRUE(std::isfinite(axis.toNs(100)));
  EXPECT_DOUBLE_EQ(axis.lengthNs(), TimeAxis::kMinimumNs);
}

}  // namespace
}  // namespace lockstep::ui
