#include "ui/chart/LineChart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

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

TEST(LineChart, WhereACurveWasLostIsReadWholeWhereverTheLineIs) {
  const QRectF rect(0, 0, 400, 200);
  for (int lostAt = 0; lostAt <= 100; lostAt += 5) {
    DisplayList list;
    RankCurve curve;
    curve.points = {{0, 1}, {100, 2}};
    curve.lostAt = lostAt;
    curve.lostUntil = 100;
    drawLineChart(list, rect, {}, {curve}, Palette::of(Theme::kLight), {});
    QRectF plot;
    int marks = 0;
    for (const DisplayList::Command& command : list.commands()) {
      if (command.op == DisplayList::Op::kClip) {
        plot = command.rect;
      } else if (command.op == DisplayList::Op::kText &&
                 list.textOf(command).startsWith("no finite number")) {
        ++marks;
        EXPECT_TRUE(plot.adjusted(-0.1, 0, 0.1, 0).contains(command.rect)) << lostAt;
      }
    }
    EXPECT_EQ(marks, 1) << lostAt;
  }
}

TEST(LineChart, NamesItsCurvesBeforeWhatIsGreyAlsoWhereItIsNarrow) {
  std::vector<RankCurve> curves(2);
  curves[0].rank = 3;
  curves[1].rank = 51;
  RankBand band;
  for (const double x : {0.0, 100.0}) {
    for (RankCurve& curve : curves) {
      curve.points.emplace_back(x, 1 + curve.rank);
    }
    band.places.push_back({x, 4, 20, 30, 40, 52});
  }
  DisplayList list;
  drawLineChart(
      list, QRectF(0, 0, 470, 150),
      {QStringLiteral("Throughput, extremes of 64 ranks"), QStringLiteral("steps/s"), {}, {}},
      curves, Palette::of(Theme::kLight), {}, band);
  for (const char* name : {"rank 3", "rank 51"}) {
    EXPECT_EQ(std::ranges::count(list.texts(), QString(name)), 1) << name;
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
