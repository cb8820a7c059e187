#include "ui/chart/LineChart.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::ui {
namespace {

TEST(LineChart, ASingleValueHasAnAxisHoweverLargeItIs) {
  for (const double value : {3.0, 2e16, -4e20}) {
    DisplayList list;
    RankCurve curve;
    curve.points = {{5, value}};
    drawLineChart(list, QRectF(0, 0, 400, 200), {}, {curve}, Palette::of(Theme::kLight), {});
    for (const DisplayList::Command& command : list.commands()) {
      EXPECT_TRUE(std::isfinite(command.rect.y())) << value;
    }
  }
}

TEST(LineChart, ASparklineOfZerosLiesAlongTheBottom) {
  DisplayList list;
  const QRectF rect(10, 20, 100, 30);
  drawSparkline(list, rect, {0, 0, 0}, Qt::red);
  ASSERT_FALSE(list.points().empty());
  for (const QPointF& point : list.points()) {
    EXPECT_EQ(point.y(), rect.bottom());
  }
  for (const DisplayList::Command& command : list.commands()) {
    EXPECT_TRUE(std::isfinite(command.rect.y()));
  }
}

}  // namespace
}  // namespace lockstep::ui
