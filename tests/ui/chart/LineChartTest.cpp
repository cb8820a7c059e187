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

}  // namespace
}  // namespace lockstep::ui
