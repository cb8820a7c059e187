#include "engine/trace/Event.h"
#include "ui/views/timeline/TimelineOverview.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QMouseEvent>
#include <QTest>
#include <QWheelEvent>
#include <algorithm>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;
using Op = DisplayList::Op;

const QRectF kStrip(0, 0, 1128, kOverviewHeight);  // 1000 px for the run

class TimelineOverviewScene : public testing::Test {
 protected:
  DisplayList draw(const OverviewFrame& frame = {}) {
    DisplayList list;
    drawOverview(list, kStrip, model_, Palette::of(Theme::kLight), frame);
    return list;
  }

  // The area that is filled with a colour, in px².
  static double filled(const DisplayList& list, const QColor& colour) {
    double area = 0;
    for (const auto& command : list.commands()) {
      if (command.op == Op::kFill && command.colour == colour.rgba()) {
        area += command.rect.width() * command.rect.height();
      }
    }
    return area;
  }

  static QColor tone(Tone tone) { return Palette::of(Theme::kLight).tone(tone); }

  RunModel model_;
};

// 2 ranks over 1000 ms: both forward 0..250, backward 250..750 of which rank 0 waits 500..750.
// The columns are 37 px high: forward 250 px of 37, waiting 250 px of 18.5.
TEST_F(TimelineOverviewScene, ShowsWhichPartOfTheRanksTimeWentWhere) {
  constexpr std::uint64_t kMs = 1'000'000;
  model_.applyUpdate(test::Feed()
                         .span(1, EventKind::kForward, 0, 250 * kMs)
                         .span(3, EventKind::kForward, 0, 250 * kMs)
                         .span(1, EventKind::kWait, 500 * kMs, 750 * kMs)
                         .span(1, EventKind::kBackward, 250 * kMs, 750 * kMs)
                         .span(3, EventKind::kBackward, 250 * kMs, 750 * kMs)
                         .span(1, EventKind::kStep, 0, 1000 * kMs)
                         .span(3, EventKind::kStep, 0, 1000 * kMs)
                         .take());
  const DisplayList list = draw();
  EXPECT_NEAR(filled(list, tone(Tone::kForward)), 250 * 37, 100);
  EXPECT_NEAR(filled(list, tone(Tone::kWait)), 250 * 18.5, 200);
  EXPECT_NEAR(filled(list, tone(Tone::kBackward)), 250 * 37 + 250 * 18.5, 300);
  OverviewFrame waits;
  waits.colourBy = ColourBy::kWait;
  const DisplayList alone = draw(waits);
  EXPECT_NEAR(filled(alone, tone(Tone::kWait)), 250 * 18.5, 200);
  EXPECT_EQ(filled(alone, tone(Tone::kForward)), 0);
}

TEST_F(TimelineOverviewScene, MarksWhatIsBeforeTheFirstIterationAsTheStart) {
  constexpr std::uint64_t kMs = 1'000'000;
  model_.applyUpdate(test::Feed()
                         .span(1, EventKind::kStartup, 0, 240 * kMs)
                         .span(1, EventKind::kStep, 250 * kMs, 1000 * kMs)
                         .span(3, EventKind::kStep, 260 * kMs, 1000 * kMs)
                         .take());
  const DisplayList list = draw();
  EXPECT_EQ(std::ranges::count(list.texts(), QStringLiteral("start 250 ms")), 1);
  EXPECT_NEAR(filled(list, Palette::of(Theme::kLight).raised), 250 * 37, 100);
}

TEST_F(TimelineOverviewScene, HatchesWhereEventsWereLost) {
  model_.applyUpdate(test::demoRun({.gapOnRank0 = true}));
  const DisplayList list = draw();
  const auto hatch = std::find_if(list.commands().begin(), list.commands().end(),
                                  [](const auto& command) { return command.op == Op::kHatch; });
  ASSERT_NE(hatch, list.commands().end());
  const auto step = model_.step(0, 10);
  const TimeAxis axis = overviewAxis(model_, kStrip);
  EXPECT_GT(hatch->rect.right(), axis.toX(step->startNs) - 4);
  EXPECT_LT(hatch->rect.left(), axis.toX(step->endNs) + 4);
}

TEST_F(TimelineOverviewScene, DrawsPixelsAndNotEvents) {
  model_.applyUpdate(test::demoRun({.steps = 2000}));
  EXPECT_LT(draw().commands().size(), 3500u);
}

class TimelineOverviewWidget : public testing::Test {
 protected:
  void SetUp() override {
    model_.applyUpdate(test::demoRun());
    strip_.setRun({&model_, &state_, nullptr});
    strip_.resize(1128, 46);
    strip_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&strip_));
    const TimeRange all = model_.extent();
    third_ = all.lengthNs() / 3;
    state_.setRange({all.startNs + third_, all.startNs + 2 * third_},
                    ViewState::RangeChange::kSilent);
  }

  QWidget* surface() { return strip_.canvas()->childAt(strip_.canvas()->rect().center()); }

  QPoint at(double ns) { return {static_cast<int>(strip_.axis().toX(ns)), 20}; }

  void drag(QPoint from, QPoint to) {
    QTest::mousePress(surface(), Qt::LeftButton, {}, from);
    QMouseEvent move(QEvent::MouseMove, to, surface()->mapToGlobal(to), Qt::NoButton,
                     Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(surface(), &move);
    QTest::mouseRelease(surface(), Qt::LeftButton, {}, to);
  }

  RunModel model_;
  ViewState state_;
  TimelineOverview strip_;
  double third_ = 0;
};

TEST_F(TimelineOverviewWidget, TheWindowIsDragged) {
  const TimeRange before = state_.range();
  const double ns = before.startNs + third_ / 2;
  drag(at(ns), at(ns + third_ / 2));
  EXPECT_NEAR(state_.range().startNs, before.startNs + third_ / 2, third_ * 0.02);
  EXPECT_NEAR(state_.range().lengthNs(), third_, 1);
  state_.undoStack().undo();
  EXPECT_EQ(state_.range(), before);
}

TEST_F(TimelineOverviewWidget, TheWindowIsResizedAtItsEdges) {
  const TimeRange before = state_.range();
  drag(at(before.endNs), at(before.endNs - third_ / 2));
  EXPECT_NEAR(state_.range().endNs, before.endNs - third_ / 2, third_ * 0.02);
  EXPECT_NEAR(state_.range().startNs, before.startNs, 1);
  drag(at(before.startNs), at(before.startNs - third_ / 2));
  EXPECT_NEAR(state_.range().startNs, before.startNs - third_ / 2, third_ * 0.02);
}

TEST_F(TimelineOverviewWidget, AClickElsewhereGoesThere) {
  const TimeRange all = model_.extent();
  QTest::mouseClick(surface(), Qt::LeftButton, {}, at(all.endNs - third_ / 2));
  const double middle = (state_.range().startNs + state_.range().endNs) / 2;
  EXPECT_NEAR(middle, all.endNs - third_ / 2, third_ * 0.02);
  EXPECT_NEAR(state_.range().lengthNs(), third_, 1);
}

TEST_F(TimelineOverviewWidget, ADoubleClickShowsAllAndTheWheelZooms) {
  QTest::mouseDClick(surface(), Qt::LeftButton, {}, at(state_.range().startNs + third_ / 2));
  EXPECT_GT(state_.range().lengthNs(), model_.extent().lengthNs());
  const double before = state_.range().lengthNs();
  QWheelEvent event(QPointF(500, 20), surface()->mapToGlobal(QPointF(500, 20)), QPoint(),
                    QPoint(0, 120), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
  QApplication::sendEvent(surface(), &event);
  EXPECT_NEAR(state_.range().lengthNs(), before * 0.8, before * 0.01);
}

}  // namespace
}  // namespace lockstep::ui
