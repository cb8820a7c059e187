#include "engine/trace/Event.h"
#include "ui/views/timeline/CounterScene.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/ui/model/Feed.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

using testing::Contains;
using testing::Not;
using trace::EventKind;
using Op = DisplayList::Op;

constexpr double kMiB = 1024.0 * 1024.0;

// Two ranks, a step each from 0 to 1000 ns, and what the test counts.
class CounterSceneTest : public testing::Test {
 protected:
  CounterSceneTest() {
    update_ = test::Feed()
                  .span(1, EventKind::kStep, 0, 1000, 0)
                  .span(3, EventKind::kStep, 0, 1000, 0)
                  .take();
  }

 public:
  CounterSceneTest& value(const char* name, int rank, std::uint64_t atNs, double value) {
    update_.metrics.push_back(
        {static_cast<std::int64_t>(update_.metrics.size()) + 1, rank, name, 0, 1000 + atNs, value});
    return *this;
  }

 protected:
  void load(std::vector<std::string> counters) {
    model_.applyUpdate(update_);
    layout_ = TimelineLayout(model_, {}, {.counters = std::move(counters)});
    frame_.size = QSizeF(timeline_metrics::kLabelWidth + 1000,
                         timeline_metrics::kRulerHeight + layout_.height());
    frame_.range = {0, 1000};  // a pixel a nanosecond
  }

  DisplayList draw() {
    DisplayList list;
    TimelineScene(model_, layout_, Palette::of(Theme::kLight), frame_).draw(list);
    return list;
  }

  std::vector<CounterColumns> columns(const char* name, bool overInterval, double fromNs = 0,
                                      double toNs = 1000, double width = 1000) {
    return counterColumns(model_, *model_.counters().find(name, 0), overInterval,
                          TimeAxis(fromNs, toNs, 0, width));
  }

  // Where the lane of a counter is in the frame.
  QRectF laneOf(int rank, std::size_t which) const {
    const auto& box = layout_.ranks()[static_cast<std::size_t>(rank)].counters[which];
    return {timeline_metrics::kLabelWidth, timeline_metrics::kRulerHeight + box.top, 1000,
            box.height};
  }

  // The heights of the bands of a lane over its lower edge, from left to right.
  static std::vector<double> bandsIn(const DisplayList& list, const QRectF& lane, QColor colour) {
    std::vector<double> heights;
    for (const auto& command : list.commands()) {
      if (command.op == Op::kFill && command.colour == colour.rgba() &&
          lane.contains(command.rect)) {
        heights.push_back(lane.bottom() - command.rect.top());
      }
    }
    return heights;
  }

  trace::RunUpdate update_;
  RunModel model_;
  TimelineLayout layout_;
  TimelineFrame frame_;
};

TEST_F(CounterSceneTest, AValueThatIsTakenHoldsUntilTheNext) {
  value("resident_bytes", 0, 100, 5)
      .value("resident_bytes", 0, 400, 7)
      .value("resident_bytes", 0, 900, 6);
  load({});
  const auto found = columns("resident_bytes", false);
  // 5 from its own time on; 5 and 7 in the column of the change; 7; 7 and 6 in the last column.
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].left, 100);
  EXPECT_EQ(found[0].right, found[1].left);
  EXPECT_NEAR(found[0].right, 400, 1);
  EXPECT_EQ(found[0].minimum, 5);
  EXPECT_EQ(found[0].maximum, 5);
  EXPECT_EQ(found[1].minimum, 5);
  EXPECT_EQ(found[1].maximum, 7);
  EXPECT_EQ(found[2].minimum, 7);
  EXPECT_EQ(found[2].maximum, 7);
  EXPECT_EQ(found[3].minimum, 6);
  EXPECT_EQ(found[3].maximum, 7);
  EXPECT_NEAR(found[3].right, 900, 1);
}

TEST_F(CounterSceneTest, AMeanOfAnIntervalReachesBackToTheValueBefore) {
  value("cpu_percent", 0, 100, 10).value("cpu_percent", 0, 600, 90);
  load({});
  const CounterSeries& series = *model_.counters().find("cpu_percent", 0);
  EXPECT_EQ(counterValueAt(model_, series, true, 99), series.size()) << "nothing before the first";
  EXPECT_EQ(counterValueAt(model_, series, true, 100), 0u);
  EXPECT_EQ(counterValueAt(model_, series, true, 101), 1u);
  EXPECT_EQ(counterValueAt(model_, series, true, 600), 1u);
  EXPECT_EQ(counterValueAt(model_, series, true, 601), series.size());
  EXPECT_EQ(counterValueAt(model_, series, false, 599), 0u);
  EXPECT_EQ(counterValueAt(model_, series, false, 600), 1u);
  EXPECT_EQ(timeOfValue(model_, series, true, 1), (TimeRange{100, 600}));
  const auto found = columns("cpu_percent", true);
  EXPECT_EQ(found.back().minimum, 90);
  EXPECT_NEAR(found.back().right, 600, 1);
  EXPECT_NEAR(found.back().left, 101, 1);
}

TEST_F(CounterSceneTest, AMillionValuesCostNoMoreThanTheirPixelsAndLoseNoExtreme) {
  constexpr std::size_t kValues = 1'000'000;
  std::vector<double> values(kValues);
  for (std::size_t i = 0; i < kValues; ++i) {
    values[i] = 50 + 20 * std::sin(static_cast<double>(i) * 0.7);
    value("cpu_percent", 0, 10 * i, values[i]);
  }
  values[777'777] = 400;
  update_.metrics[777'777].value = 400;
  load({"cpu_percent"});
  frame_.range = {0, 10.0 * kValues};
  const auto found = columns("cpu_percent", false, 0, 10.0 * kValues);
  ASSERT_LE(found.size(), 1001u);
  double largest = 0;
  for (std::size_t column = 1; column + 1 < found.size(); ++column) {
    // 1000 values a column, and the one that holds from before.
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(found[column].left * 1000);
    EXPECT_LE(found[column].minimum, *std::min_element(begin + 1, begin + 999));
    EXPECT_GE(found[column].maximum, *std::max_element(begin + 1, begin + 999));
    largest = std::max(largest, found[column].maximum);
  }
  EXPECT_EQ(largest, 400);
  EXPECT_LT(draw().commands().size(), 4000u);
  EXPECT_THAT(draw().texts(), Contains(QString("400 %"))) << "the peak";
}

TEST_F(CounterSceneTest, RanksShareOneScaleThatBeginsAtZero) {
  value("resident_bytes", 0, 0, 50 * kMiB).value("resident_bytes", 0, 1000, 50 * kMiB);
  value("resident_bytes", 1, 0, 100 * kMiB).value("resident_bytes", 1, 1000, 100 * kMiB);
  load({"resident_bytes"});
  const QColor line = Palette::of(Theme::kLight).rank(0);
  const auto low = bandsIn(draw(), laneOf(0, 0), line);
  const auto high = bandsIn(draw(), laneOf(1, 0), line);
  ASSERT_EQ(low.size(), 1u);
  ASSERT_EQ(high.size(), 1u);
  // The plot keeps 3 px above and below: 100 MiB is its whole height, 50 MiB half of it.
  const double height = laneOf(0, 0).height() - 6;
  EXPECT_NEAR(high[0] - 3, height, 0.5);
  EXPECT_NEAR(low[0] - 3, height / 2, 0.5);
  EXPECT_THAT(draw().texts(), Contains(QString("Memory")));
  EXPECT_THAT(draw().texts(), Contains(QString("0 to 100 MiB")));
}

TEST_F(CounterSceneTest, TheEndsOfItsAxisAreNotToBeTakenForAValue) {
  value("resident_bytes", 0, 0, 100 * kMiB).value("resident_bytes", 0, 1000, 100 * kMiB);
  load({"resident_bytes"});
  for (const Density density : {Density::kUsual, Density::kStrips}) {
    layout_ = TimelineLayout(model_, {}, {.counters = {"resident_bytes"}, .density = density});
    const DisplayList list = draw();
    EXPECT_THAT(list.texts(), Contains(QString("Memory")));
    EXPECT_THAT(list.texts(), Not(Contains(QString("100 MiB"))));
    const bool usual = density == Density::kUsual;
    EXPECT_EQ(std::ranges::count(list.texts(), QString("0 to 100 MiB")), usual ? 1 : 0);
  }
}

TEST_F(CounterSceneTest, ARankWithoutTheCounterAndACollapsedOneHaveNoPlot) {
  value("hook.kept", 0, 10, 618).value("hook.kept", 0, 500, 618);
  load({"hook.kept", "nobody.counted"});
  ASSERT_EQ(layout_.ranks().size(), 2u);
  EXPECT_EQ(layout_.ranks()[0].counters.size(), 1u);
  EXPECT_TRUE(layout_.ranks()[1].counters.empty());
  EXPECT_TRUE(TimelineLayout(model_, {0}, {.counters = {"hook.kept"}}).ranks()[0].counters.empty());
  EXPECT_THAT(draw().texts(), Contains(QString("kept")));
  EXPECT_THAT(draw().texts(), Not(Contains(QString("Memory"))));
}

TEST_F(CounterSceneTest, TheCardSaysTheValueItsTimeAndTheOtherRanks) {
  value("cpu_percent", 0, 100, 10).value("cpu_percent", 0, 600, 90.2);
  value("cpu_percent", 1, 100, 20).value("cpu_percent", 1, 600, 45.5);
  load({"cpu_percent"});
  frame_.pointer = laneOf(0, 0).topLeft() + QPointF(300, 10);
  const auto texts = draw().texts();
  EXPECT_THAT(texts, Contains(QString("Processor, rank 0")));
  EXPECT_THAT(texts, Contains(QString("90.2 %")));
  EXPECT_THAT(texts, Contains(QString("Rank 1")));
  EXPECT_THAT(texts, Contains(QString("45.5 %")));
  EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [](const QString& text) {
    return text.contains(QLatin1String("(500 ns)"));
  })) << "the time it is the mean of";
  frame_.pointer = laneOf(0, 0).topLeft() + QPointF(900, 10);
  EXPECT_THAT(draw().texts(), Contains(QString("not recorded at this time")));
}

TEST_F(CounterSceneTest, MarksThePeakOfWhatIsInSightUnlessAllIsAlike) {
  value("loss", 0, 0, 2)
      .value("loss", 0, 300, 4.5)
      .value("loss", 0, 600, 3)
      .value("loss", 0, 1000, 3);
  load({"loss"});
  EXPECT_THAT(draw().texts(), Contains(QString("4.5")));
  frame_.range = {650, 1000};
  EXPECT_THAT(draw().texts(), Not(Contains(QString("4.5"))));
  EXPECT_THAT(draw().texts(), Not(Contains(QString("3"))));
}

TEST_F(CounterSceneTest, NegativeValuesHangBelowZeroAndWhatIsNoNumberIsLeftOut) {
  value("hook.gain", 0, 0, -4)
      .value("hook.gain", 0, 250, std::numeric_limits<double>::quiet_NaN())
      .value("hook.gain", 0, 500, 4)
      .value("hook.gain", 0, 1000, 4);
  load({"hook.gain"});
  const auto found = columns("hook.gain", false);
  const bool anyInGap = std::any_of(found.begin(), found.end(), [](const CounterColumns& part) {
    return part.left < 495 && part.right > 255;
  });
  EXPECT_FALSE(found.empty());
  EXPECT_FALSE(anyInGap);
  const CounterLane lane(model_, "hook.gain", 0, *model_.counters().find("hook.gain", 0),
                         QRectF(0, 0, 100, 46));
  EXPECT_EQ(lane.scale(), (CounterScale{-4, 4}));
  EXPECT_DOUBLE_EQ(lane.toY(0), 23);
  EXPECT_DOUBLE_EQ(lane.toY(-4), 43);
  EXPECT_DOUBLE_EQ(lane.toY(4), 3);
}

}  // namespace
}  // namespace lockstep::ui
