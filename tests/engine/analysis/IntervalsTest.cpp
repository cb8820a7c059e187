#include "engine/analysis/Intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

namespace lockstep::analysis {

void PrintTo(const Interval& interval, std::ostream* out) {
  *out << "[" << interval.begin << ", " << interval.end << ")";
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(IntervalsTest, UnitesWhatOverlapsOrTouches) {
  EXPECT_THAT(unite({{50, 60}, {10, 20}, {15, 30}, {30, 40}, {12, 14}}),
              ElementsAre(Interval{10, 40}, Interval{50, 60}));
  EXPECT_THAT(unite({{5, 5}, {9, 7}}), IsEmpty());
}

TEST(IntervalsTest, IntersectsPairwise) {
  EXPECT_THAT(intersect({{0, 10}, {20, 30}}, {{5, 25}, {28, 40}}),
              ElementsAre(Interval{5, 10}, Interval{20, 25}, Interval{28, 30}));
  EXPECT_THAT(intersect({{0, 10}}, {{10, 20}}), IsEmpty());
  EXPECT_THAT(intersect({}, {{0, 1}}), IsEmpty());
}

TEST(IntervalsTest, SubtractsHolesEdgesAndAll) {
  EXPECT_THAT(
      subtract({{0, 100}, {200, 300}}, {{10, 20}, {90, 210}, {250, 260}}),
      ElementsAre(Interval{0, 10}, Interval{20, 90}, Interval{210, 250}, Interval{260, 300}));
  EXPECT_THAT(subtract({{10, 20}, {30, 40}}, {{0, 100}}), IsEmpty());
  EXPECT_THAT(subtract({{10, 20}}, {}), ElementsAre(Interval{10, 20}));
}

TEST(IntervalsTest, ClipsToAWindow) {
  const Intervals all = {{0, 10}, {20, 30}, {40, 50}};
  EXPECT_THAT(clip(all, {5, 45}), ElementsAre(Interval{5, 10}, Interval{20, 30}, Interval{40, 45}));
  EXPECT_THAT(clip(all, {10, 20}), IsEmpty());
  EXPECT_THAT(clip(all, {22, 24}), ElementsAre(Interval{22, 24}));
  EXPECT_THAT(clip(all, {60, 70}), IsEmpty());
}

TEST(IntervalsTest, MeasuresWhatIsInBoth) {
  EXPECT_EQ(common({{0, 10}, {20, 30}}, {{5, 25}, {28, 40}}), 5 + 5 + 2);
  EXPECT_EQ(common({{0, 10}}, {{10, 20}}), 0);
  EXPECT_EQ(common({}, {{0, 1}}), 0);
}

TEST(IntervalsTest, TakesOutAPieceAndSaysHowMuchOfItWasThere) {
  const Intervals all = {{0, 10}, {20, 30}, {40, 50}};
  for (std::uint64_t begin = 0; begin < 55; begin += 5) {
    for (std::uint64_t end = 0; end <= 60; end += 5) {
      const Intervals piece = begin < end ? Intervals{{begin, end}} : Intervals();
      Intervals left = all;
      EXPECT_EQ(takeOut({begin, end}, left), length(intersect(all, piece)));
      EXPECT_EQ(left, subtract(all, piece)) << begin << " to " << end;
    }
  }
  Intervals one = {{0, 10}};
  EXPECT_EQ(takeOut({4, 6}, one), 2);
  EXPECT_THAT(one, ElementsAre(Interval{0, 4}, Interval{6, 10}));
  Intervals none;
  EXPECT_EQ(takeOut({4, 6}, none), 0);
}

TEST(IntervalsTest, AddsUpTheCoveredTime) {
  EXPECT_EQ(length({{0, 10}, {20, 21}}), 11);
}

}  // namespace
}  // namespace lockstep::analysis
