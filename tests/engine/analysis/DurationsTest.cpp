#include "engine/analysis/Durations.h"

#include <gmock/gmock.h>

namespace lockstep::analysis {
namespace {

using testing::ElementsAre;

TEST(DurationsTest, QuantilesLieBetweenTheNearestTwoValues) {
  // Of 1, 2, 3, 4, 10 the places are 0..4: P50 at 2, P90 at 3.6, P95 at 3.8, P99 at 3.96.
  const Durations durations = durationsOf({10, 1, 4, 2, 3});
  EXPECT_EQ(durations.count(), 5u);
  EXPECT_EQ(durations.mean, 4);
  EXPECT_EQ(durations.p50, 3);
  EXPECT_DOUBLE_EQ(durations.p90, 4 + 0.6 * 6);
  EXPECT_DOUBLE_EQ(durations.p95, 4 + 0.8 * 6);
  EXPECT_DOUBLE_EQ(durations.p99, 4 + 0.96 * 6);
  EXPECT_EQ(durations.max, 10);
}

TEST(DurationsTest, OfOneValueAllAreThatOne) {
  const Durations durations = durationsOf({7});
  EXPECT_EQ(durations.mean, 7);
  EXPECT_EQ(durations.p50, 7);
  EXPECT_EQ(durations.p99, 7);
}

TEST(DurationsTest, OfNoneAllAreNothing) {
  const Durations durations = durationsOf({});
  EXPECT_EQ(durations.count(), 0u);
  EXPECT_EQ(durations.mean, 0);
  EXPECT_EQ(durations.p99, 0);
  EXPECT_EQ(durations.max, 0);
}

TEST(HistogramTest, AValueAtTheUpperEndIsInTheLastBinAndOneAboveIsBeyond) {
  // Bins of 0..4: [0,1) [1,2) [2,3) [3,4].
  const Histogram bins = histogram(durationsOf({0, 0.5, 1, 3, 4, 4.5}), 0, 4, 4);
  EXPECT_THAT(bins.counts, ElementsAre(2, 1, 0, 2));
  EXPECT_EQ(bins.beyond, 1u);
}

TEST(HistogramTest, AValueBetweenTwoBinsIsInTheUpperAndOneBelowTheRangeInNone) {
  // Bins of 1..2: [1,1.25) [1.25,1.5) [1.5,1.75) [1.75,2].
  const Durations durations = durationsOf({0.5, 1, 1.25, 1.25, 1.5, 1.75, 2, 2.5, 9});
  const Histogram bins = histogram(durations, 1, 2, 4);
  EXPECT_THAT(bins.counts, ElementsAre(1, 2, 1, 2));
  EXPECT_EQ(bins.beyond, 2u);
}

TEST(HistogramTest, HasNothingWhereThereIsNoRange) {
  EXPECT_THAT(histogram(durationsOf({1, 2}), 3, 3, 2).counts, ElementsAre(0, 0));
}

}  // namespace
}  // namespace lockstep::analysis
