#include "engine/analysis/SpanStatistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::analysis {
namespace {

constexpr std::uint32_t kA = 0;
constexpr std::uint32_t kB = 1;

// Thread 0, in ns:
//   A  0........................100
//   B     10......40   50....70
//   A        20.30
// Thread 1: B 0..50, which lies within nothing of thread 0.
std::vector<TimedSpan> nested() {
  return {{0, 100, 0, kA}, {10, 30, 0, kB}, {20, 10, 0, kA}, {50, 20, 0, kB}, {0, 50, 1, kB}};
}

// A: total 100, since 20..30 lies within the other A; self (100 - 30 - 20) + 10 = 60.
// B: total 30 + 20 + 50 = 100; self (30 - 10) + 20 + 50 = 90.
TEST(SpanStatistics, SelfTimeIsWhatNoSpanOfTheSameThreadTakesFromWithin) {
  const auto groups = spanStatistics(nested(), 2);
  EXPECT_EQ(groups[kA].total, 100);
  EXPECT_EQ(groups[kA].self, 60);
  EXPECT_EQ(groups[kB].total, 100);
  EXPECT_EQ(groups[kB].self, 90);
}

// All in one group: thread 0 is taken for 100, thread 1 for 50, and nothing twice.
TEST(SpanStatistics, SpansWithinOthersOfTheirGroupCountOnceInItsTotal) {
  auto spans = nested();
  for (TimedSpan& span : spans) {
    span.group = kA;
  }
  const auto groups = spanStatistics(spans, 1);
  EXPECT_EQ(groups[kA].count, 5u);
  EXPECT_EQ(groups[kA].total, 150);
  EXPECT_EQ(groups[kA].self, 150);
}

// Durations 1, 2, 3, 4: mean 2.5; P50 half way between 2 and 3; P90 at place 0.9 * 3 = 2.7, so
// 3.7; P99 at place 2.97, so 3.97; variance (2.25 + 0.25 + 0.25 + 2.25) / 4 = 1.25.
TEST(SpanStatistics, QuantilesLieBetweenTheNearestTwo) {
  const auto groups =
      spanStatistics({{0, 4, 0, kA}, {10, 1, 0, kA}, {20, 3, 0, kA}, {30, 2, 0, kA}}, 1);
  EXPECT_EQ(groups[kA].mean, 2.5);
  EXPECT_EQ(groups[kA].min, 1);
  EXPECT_EQ(groups[kA].p50, 2.5);
  EXPECT_DOUBLE_EQ(groups[kA].p90, 3.7);
  EXPECT_DOUBLE_EQ(groups[kA].p99, 3.97);
  EXPECT_EQ(groups[kA].max, 4);
  EXPECT_DOUBLE_EQ(groups[kA].deviation, std::sqrt(1.25));
}

TEST(SpanStatistics, InstantsAreCountedAndNotMeasured) {
  const auto groups =
      spanStatistics({{5, 0, 0, kA}, {6, 0, 0, kA}, {7, 0, 0, kB}, {8, 2, 0, kB}}, 2);
  EXPECT_EQ(groups[kA].count, 2u);
  EXPECT_EQ(groups[kA].measured, 0u);
  EXPECT_EQ(groups[kA].max, 0);
  EXPECT_EQ(groups[kB].count, 2u);
  EXPECT_EQ(groups[kB].mean, 2);
  EXPECT_EQ(groups[kB].min, 2);
}

// 0..10 and 5..15 overlap, neither covers the other; 6..9 lies within both and is taken from the
// one that began last, 12..14 from the second alone. Self: 10 and 10 - 3 - 2 = 5.
TEST(SpanStatistics, WhatOverlapsWithoutBeingCoveredIsNotWithin) {
  const auto groups =
      spanStatistics({{0, 10, 0, 0}, {5, 10, 0, 1}, {6, 3, 0, 2}, {12, 2, 0, 2}}, 3);
  EXPECT_EQ(groups[0].self, 10);
  EXPECT_EQ(groups[1].self, 5);
  EXPECT_EQ(groups[2].total, 5);
}

// Within A (0..100): B 10..40 and B 30..60 overlap and take 10..60 together, B 80..90 takes 10.
// B is not within B: total and self are 30 + 30 + 10.
TEST(SpanStatistics, SpansThatOverlapWithinAnotherTakeItsTimeOnce) {
  const auto groups =
      spanStatistics({{0, 100, 0, kA}, {10, 30, 0, kB}, {30, 30, 0, kB}, {80, 10, 0, kB}}, 2);
  EXPECT_EQ(groups[kA].self, 40);
  EXPECT_EQ(groups[kB].total, 70);
  EXPECT_EQ(groups[kB].self, 70);
}

// Two transfers at once, 0..100 and 20..60, and work of a thread at 30..40 meanwhile: none lies
// within another.
TEST(SpanStatistics, WhatIsNoThreadsWorkLiesWithinNothingAndHoldsNothing) {
  const auto groups =
      spanStatistics({{0, 100, kNoThread, kA}, {20, 40, kNoThread, kA}, {30, 10, 0, kB}}, 2);
  EXPECT_EQ(groups[kA].total, 140);
  EXPECT_EQ(groups[kA].self, 140);
  EXPECT_EQ(groups[kB].self, 10);
}

// The window 30..60 cuts 70 off A's total of 100 and leaves of B 10 (30..40), 10 (50..60), and 20
// (30..50) on thread 1.
TEST(SpanStatistics, AWindowCutsWhatIsSharedAndNothingElse) {
  const auto groups = spanStatistics(nested(), 2, TimeWindow{30, 60});
  EXPECT_EQ(groups[kA].inWindow, 30);
  EXPECT_EQ(groups[kB].inWindow, 40);
  EXPECT_EQ(groups[kA].total, 100);
  EXPECT_EQ(groups[kB].max, 50);
}

// Without B's spans being counted, A's self time stays 60: they still take theirs.
TEST(SpanStatistics, WhatBelongsToNoGroupIsNotCountedButTakesItsTime) {
  auto spans = nested();
  for (TimedSpan& span : spans) {
    span.group = span.group == kB ? kNoGroup : kA;
  }
  const auto groups = spanStatistics(spans, 1);
  EXPECT_EQ(groups[kA].count, 2u);
  EXPECT_EQ(groups[kA].self, 60);
}

TEST(SpanStatistics, NothingGivesZeros) {
  EXPECT_TRUE(spanStatistics({}, 0).empty());
  const auto groups = spanStatistics({}, 1);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].count, 0u);
  EXPECT_EQ(groups[0].mean, 0);
}

}  // namespace
}  // namespace lockstep::analysis
