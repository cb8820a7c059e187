#include "ui/views/timeline/LatencyHistogram.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

TEST(LatencyHistogram, GivesPercentilesWithinItsResolution) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 1000; ++i) {
    histogram.add(i * 0.5);  // 0.5 .. 500 ms
  }
  EXPECT_EQ(histogram.count(), 1000u);
  EXPECT_GE(histogram.percentileMs(0.5), 250);
  EXPECT_LE(histogram.percentileMs(0.5), 250 * 1.2);
  EXPECT_GE(histogram.p95Ms(), 475);
  EXPECT_LE(histogram.p95Ms(), 500);
  EXPECT_DOUBLE_EQ(histogram.maximumMs(), 500);
}

TEST(LatencyHistogram, NeverPromisesLessThanWasMeasured) {
  LatencyHistogram histogram;
  histogram.add(260);
  EXPECT_GE(histogram.p95Ms(), 260);
}

TEST(LatencyHistogram, HoldsAtItsEndsAndWhenEmpty) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.p95Ms(), 0);
  histogram.add(0);
  histogram.add(1e9);
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_DOUBLE_EQ(histogram.maximumMs(), 1e9);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0u);
}

}  // namespace
}  // namespace lockstep::ui
