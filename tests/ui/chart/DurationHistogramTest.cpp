#include "ui/chart/DurationHistogram.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

using analysis::durationsOf;

class DurationHistogramTest : public testing::Test {
 protected:
  DisplayList draw(std::optional<QPointF> pointer = std::nullopt, QSizeF size = {600, 240}) {
    frame_.rect = QRectF(QPointF(0, 0), size).adjusted(10, 10, -16, -8);
    frame_.none = QStringLiteral("No measured iteration has it.");
    frame_.pointer = pointer;
    DisplayList list;
    drawHistogram(list, frame_, Palette::of(Theme::kLight));
    return list;
  }

  static int count(const DisplayList& list, DisplayList::Op op) {
    int found = 0;
    for (const auto& command : list.commands()) {
      found += command.op == op ? 1 : 0;
    }
    return found;
  }

  static bool says(const DisplayList& list, const QString& text) {
    for (const QString& drawn : list.texts()) {
      if (drawn.contains(text)) {
        return true;
      }
    }
    return false;
  }

  HistogramFrame frame_;
};

TEST_F(DurationHistogramTest, SaysTheCountAndPercentilesOfEachRun) {
  // Eleven values 10 .. 20 ms: P50 15, P90 19.
  const auto a = durationsOf({10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20});
  const auto b = durationsOf({30, 30, 30});
  frame_.runs = {{"A  one", &a, Qt::blue}, {"B  two", &b, Qt::red}};
  const DisplayList list = draw();
  EXPECT_TRUE(says(list, "A  one   11 values, P50 15.0 ms, P90 19.0 ms, P99 19.9 ms"));
  EXPECT_TRUE(says(list, "B  two   3 values, P50 30.0 ms, P90 30.0 ms, P99 30.0 ms"));
  EXPECT_TRUE(says(list, "A P50 15.0 ms"));
  EXPECT_TRUE(says(list, "B P50 30.0 ms"));
}

TEST_F(DurationHistogramTest, PercentilesOfTwoRunsThatAreCloseAreNamedWithTheirValues) {
  const auto a = durationsOf({10, 10, 10, 11, 20, 30});
  const auto b = durationsOf({10, 10, 10, 10, 20, 30});
  frame_.runs = {{"A  one", &a, Qt::blue}, {"B  two", &b, Qt::red}};
  const DisplayList list = draw({}, {900, 240});
  for (const char* mark : {"A P50 10.5 ms", "A P90 25.0 ms", "A P99 29.5 ms", "B P50 10.0 ms",
                           "B P90 25.0 ms", "B P99 29.5 ms"}) {
    EXPECT_TRUE(says(list, mark)) << mark;
  }
}

TEST_F(DurationHistogramTest, NamesOfPercentilesNeverLieOnEachOther) {
  const auto a = durationsOf({10, 10.1, 10.2, 10.3, 30});
  frame_.runs = {{{}, &a, Qt::blue}};
  for (const double width : {60.0, 120.0, 300.0, 900.0}) {
    const DisplayList list = draw({}, {width, 240});
    std::vector<QRectF> names;
    for (const auto& command : list.commands()) {
      if (command.op == DisplayList::Op::kText && list.textOf(command).startsWith(u'P')) {
        for (const QRectF& other : names) {
          EXPECT_FALSE(other.intersects(command.rect)) << width;
        }
        names.push_back(command.rect);
      }
    }
  }
}

TEST_F(DurationHistogramTest, AForecastIsDrawnBesideWhatWasMeasuredWhereverItLies) {
  const auto a = durationsOf({10, 11, 12});
  frame_.runs = {{"A  one", &a, Qt::blue}};
  frame_.forecast = HistogramForecast{20, 18, 24};
  const DisplayList list = draw();
  EXPECT_TRUE(says(list, "forecast 20.0 ms, from 18.0 ms to 24.0 ms"));
  const QColor line = Palette::of(Theme::kLight).measure;
  bool inSight = false;
  for (const auto& command : list.commands()) {
    inSight = inSight || (command.colour == line.rgba() && command.rect.height() > 50 &&
                          command.rect.right() < frame_.rect.right());
  }
  EXPECT_TRUE(inSight);
}

TEST_F(DurationHistogramTest, TheLegendEndsWithItsArea) {
  const auto a = durationsOf({10, 20});
  frame_.runs = {{"A  one", &a, Qt::blue}};
  const DisplayList list = draw();
  for (const auto& command : list.commands()) {
    if (command.op == DisplayList::Op::kText && list.textOf(command).contains("2 values")) {
      EXPECT_DOUBLE_EQ(command.rect.right(), frame_.rect.right());
    }
  }
}

TEST_F(DurationHistogramTest, TellsTheRunsApartWithoutColour) {
  const auto a = durationsOf({10, 20});
  const auto b = durationsOf({10, 20});
  frame_.runs = {{"A  one", &a, Qt::blue}};
  EXPECT_EQ(count(draw(), DisplayList::Op::kHatch), 0);
  frame_.runs.push_back({"B  two", &b, Qt::red});
  EXPECT_GE(count(draw(), DisplayList::Op::kHatch), 3) << "legend and two bars";
}

// 99 values of 10 ms and one of 1000: P99 is 19.9 ms, and the axis ends about there.
TEST_F(DurationHistogramTest, CountsOutliersInsteadOfStretchingTheAxis) {
  std::vector<double> values(99, 10.0);
  values.push_back(1000);
  const auto a = durationsOf(values);
  frame_.runs = {{"A  one", &a, Qt::blue}};
  EXPECT_TRUE(says(draw(), "1 longer than shown, up to 1.00 s"));
}

TEST_F(DurationHistogramTest, ThePointerTellsTheBinUnderIt) {
  const auto a = durationsOf({10, 10, 10, 20});
  frame_.runs = {{"A  one", &a, Qt::blue}};
  EXPECT_FALSE(says(draw(), "3 (75.0 %)"));
  bool told = false;
  for (double x = 10; x < 200 && !told; x += 4) {
    told = says(draw(QPointF(x, 150)), "3 (75.0 %)");
  }
  EXPECT_TRUE(told);
}

TEST_F(DurationHistogramTest, ARunWithoutSuchASpanIsSaidToHaveNone) {
  const auto b = durationsOf({10, 20});
  frame_.runs = {{"A  one", nullptr, Qt::blue}, {"B  two", &b, Qt::red}};
  EXPECT_TRUE(says(draw(), "A  one   has none"));
  frame_.runs = {{"A  one", nullptr, Qt::blue}};
  EXPECT_TRUE(says(draw(), "No measured iteration has it."));
}

TEST_F(DurationHistogramTest, ValuesThatAreAllTheSameAndTinyAreasAreDrawn) {
  const auto a = durationsOf({5, 5, 5});
  frame_.runs = {{"A  one", &a, Qt::blue}};
  EXPECT_GT(count(draw(), DisplayList::Op::kFill), 1);
  draw({}, QSizeF(20, 10));
  draw({}, QSizeF(0, 0));
}

}  // namespace
}  // namespace lockstep::ui
