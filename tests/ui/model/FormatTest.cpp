#include "ui/model/Format.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::ui {
namespace {

TEST(Format, WritesDurationsWithThreeDigitsInTheirUnit) {
  EXPECT_EQ(formatDuration(0), "0 ns");
  EXPECT_EQ(formatDuration(870), "870 ns");
  EXPECT_EQ(formatDuration(999.4), "999 ns");
  EXPECT_EQ(formatDuration(999.6), "1.00 µs");
  EXPECT_EQ(formatDuration(12'345), "12.3 µs");
  EXPECT_EQ(formatDuration(4'561'000), "4.56 ms");
  EXPECT_EQ(formatDuration(999'700'000), "1.00 s");
  EXPECT_EQ(formatDuration(123e9), "123 s");
  EXPECT_EQ(formatDuration(-2500), "-2.50 µs");
}

TEST(Format, WritesTimesWithTheDigitsThatTellNeighboursApart) {
  EXPECT_EQ(formatTime(1.5e9, 0.5e9), "1.5 s");
  EXPECT_EQ(formatTime(2e9, 0.5e9), "2.0 s");
  EXPECT_EQ(formatTime(556'123'450, 10), "556.12345 ms");
  EXPECT_EQ(formatTime(40, 5), "40 ns");
  EXPECT_EQ(formatTime(-0.0, 1e6), "0 ms");
}

TEST(Format, LetsAllLabelsOfAnAxisShareOneUnit) {
  EXPECT_EQ(formatTime(900e6, 100e6, 1.3e9), "0.9 s");
  EXPECT_EQ(formatTime(0, 100e6, 1.3e9), "0.0 s");
  EXPECT_EQ(formatTime(1.2e9, 100e6, 1.3e9), "1.2 s");
}

TEST(Format, WritesBytesRatesAndCounts) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(512), "512 B");
  EXPECT_EQ(formatBytes(4096), "4 KiB");
  EXPECT_EQ(formatBytes(25e6), "23.8 MiB");
  EXPECT_EQ(formatRate(1.62e6, 1e6), "1.51 GiB/s");
  EXPECT_EQ(formatRate(1, 0), "") << "nothing takes no time";
  EXPECT_EQ(formatCount(7), "7");
  EXPECT_EQ(formatCount(123), "123");
  EXPECT_EQ(formatCount(1234), "1,234");
  EXPECT_EQ(formatCount(12'345'678), "12,345,678");
}

TEST(Format, ALossThatCameDownToNextToNothingIsNotNothing) {
  EXPECT_EQ(formatLoss(2.30258), "2.303");
  EXPECT_EQ(formatLoss(0.0012), "0.0012");
  EXPECT_EQ(formatLoss(0.00044), "0.00044");
  EXPECT_EQ(formatLoss(3.1e-7), "3.1e-07");
  EXPECT_EQ(formatLoss(0), "0");
  EXPECT_EQ(formatLoss(-0.25), "-0.2500");
  EXPECT_EQ(formatLoss(std::nan("")), "NaN");
}

TEST(Format, PlacesHaveTheirEnding) {
  EXPECT_EQ(formatOrdinal(1), "1st");
  EXPECT_EQ(formatOrdinal(2), "2nd");
  EXPECT_EQ(formatOrdinal(13), "13th");
  EXPECT_EQ(formatOrdinal(23), "23rd");
}

TEST(Format, AShapeListsItsSizes) {
  EXPECT_EQ(formatShape({64, 784}), "64 × 784");
  EXPECT_EQ(formatShape({}), "scalar");
}

}  // namespace
}  // namespace lockstep::ui
