#include "ui/views/timeline/LevelOfDetail.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep::ui {
namespace {

// Equal spans at equal distances; counts how often it is asked.
struct EvenRow {
  std::size_t spans;
  double everyNs;
  double lengthNs;
  mutable std::size_t asked = 0;

  [[nodiscard]] std::size_t size() const { return spans; }
  [[nodiscard]] double startNs(std::size_t i) const {
    ++asked;
    return static_cast<double>(i) * everyNs;
  }
  [[nodiscard]] double endNs(std::size_t i) const { return startNs(i) + lengthNs; }
  [[nodiscard]] std::size_t firstEndingAfter(double ns) const {
    ++asked;
    const double index = std::floor((ns - lengthNs) / everyNs) + 1;
    return static_cast<std::size_t>(std::clamp(index, 0.0, static_cast<double>(spans)));
  }
};

std::vector<LodItem> itemsOf(const EvenRow& row, const TimeAxis& axis) {
  std::vector<LodItem> items;
  forEachVisible(row, axis, [&](const LodItem& item) { items.push_back(item); });
  return items;
}

std::size_t spansIn(const std::vector<LodItem>& items) {
  std::size_t spans = 0;
  for (const LodItem& item : items) {
    spans += item.count;
  }
  return spans;
}

TEST(LevelOfDetail, ShowsWideSpansOneByOne) {
  const EvenRow row{100, 1000, 800};
  const auto items = itemsOf(row, TimeAxis(0, 10'000, 0, 1000));
  ASSERT_EQ(items.size(), 11u) << "ten, and the one that starts at the right edge";
  EXPECT_FALSE(items[3].folded());
  EXPECT_DOUBLE_EQ(items[3].left, 300);
  EXPECT_DOUBLE_EQ(items[3].right, 380);
}

TEST(LevelOfDetail, LeavesOutWhatIsOutOfSight) {
  const EvenRow row{100, 1000, 800};
  const auto items = itemsOf(row, TimeAxis(50'500, 52'500, 0, 1000));
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items.front().first, 50u) << "still running at the left edge";
  EXPECT_EQ(items.back().first, 52u);
}

TEST(LevelOfDetail, FoldsNarrowSpansAndCountsEachOnce) {
  const EvenRow row{10'000, 100, 80};
  const auto items = itemsOf(row, TimeAxis(0, 1'000'000, 0, 1000));
  EXPECT_EQ(spansIn(items), 10'000u);
  std::size_t next = 0;
  for (const LodItem& item : items) {
    EXPECT_EQ(item.first, next);
    EXPECT_TRUE(item.folded());
    EXPECT_GE(item.right - item.left, kFoldPixels);
    next += item.count;
  }
  EXPECT_LE(items.size(), 1000 / kFoldPixels + 1);
}

TEST(LevelOfDetail, KeepsANarrowSpanThatStandsAlone) {
  const EvenRow row{10, 100'000, 10};
  const auto items = itemsOf(row, TimeAxis(0, 1'000'000, 0, 1000));
  ASSERT_EQ(items.size(), 10u);
  EXPECT_FALSE(items[4].folded());
}

TEST(LevelOfDetail, CostsPixelsAndNotSpans) {
  const EvenRow few{10'000, 100, 90};
  const EvenRow many{10'000'000, 0.1, 0.09};
  const TimeAxis axis(0, 1'000'000, 0, 1000);
  itemsOf(few, axis);
  const auto items = itemsOf(many, axis);
  EXPECT_EQ(spansIn(items), 10'000'000u);
  EXPECT_LE(many.asked, 2 * few.asked);
  EXPECT_LE(many.asked, 6000u);
}

TEST(LevelOfDetail, ShowsNothingOfAnEmptyRow) {
  EXPECT_TRUE(itemsOf(EvenRow{0, 1, 1}, TimeAxis(0, 100, 0, 100)).empty());
}

}  // namespace
}  // namespace lockstep::ui
