#include "ui/chart/FlightBar.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep::ui {
namespace {

using Op = DisplayList::Op;

const Palette& light() {
  return Palette::of(Theme::kLight);
}

bool draws(const DisplayList& list, Op op, const QRectF& rect, const QColor& colour) {
  return std::ranges::any_of(list.commands(), [&](const DisplayList::Command& command) {
    return command.op == op && command.rect == rect && command.colour == colour.rgba();
  });
}

TEST(FlightBarTest, IsHatchedUntilTheLastRankCameAndFullFromThenOn) {
  DisplayList list;
  const QColor transfer = light().tone(Tone::kTransfer);
  const FlightBar bar = drawFlightBar(list, {10, 0, 100, 12}, 40, false, transfer, light());
  EXPECT_EQ(bar.waiting, QRectF(10, 0, 30, 12));
  EXPECT_EQ(bar.transfer, QRectF(40, 0, 70, 12));
  const Swatch waiting = swatchOf(FlightPart::kWaiting, light());
  EXPECT_TRUE(draws(list, Op::kFill, bar.waiting, waiting.colour));
  EXPECT_TRUE(draws(list, Op::kHatch, bar.waiting, waiting.hatch));
  EXPECT_TRUE(
      draws(list, Op::kFill, bar.transfer, swatchOf(FlightPart::kTransfer, light()).colour));
}

TEST(FlightBarTest, HasNoPartsWhereARankLeftNoRecord) {
  DisplayList list;
  drawFlightBar(list, {10, 0, 100, 12}, 40, true, light().bucket(1), light());
  EXPECT_TRUE(std::ranges::none_of(list.commands(),
                                   [](const auto& command) { return command.op == Op::kHatch; }));
  EXPECT_TRUE(draws(list, Op::kOutline, {10, 0, 100, 12}, light().bucket(1)));
}

TEST(FlightBarTest, TheMarkOfWhatIsExposedLiesAlongItsEdgeAsItStandsInTheLegend) {
  DisplayList list;
  const QColor colour = exposedEntry(light()).swatch.colour;
  markExposed(list, {10, 0, 50, 12}, Qt::BottomEdge, light());
  EXPECT_TRUE(draws(list, Op::kFill, {10, 10, 50, 2}, colour));
  markExposed(list, {10, 0, 50, 12}, Qt::LeftEdge, light());
  EXPECT_TRUE(draws(list, Op::kFill, {10, 0, 2, 12}, colour));
}

}  // namespace
}  // namespace lockstep::ui
