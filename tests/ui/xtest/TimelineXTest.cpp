#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <QToolButton>
#include <cmath>

#include "engine/trace/Event.h"
#include "tests/ui/xtest/TimelineXFixture.h"
#include "ui/model/Format.h"

namespace lockstep {
namespace {

using namespace tests;
using trace::EventKind;
using ui::Span;
using ui::TimeRange;

// The timeline in the window, by the pointer.
class TimelineXTest : public TimelineXFixture {};

TEST_P(TimelineXTest, TheWheelZoomsAtTheCursorShiftMovesAndAltMakesRowsHigher) {
  openAtStep20();
  // Asked once: what lies at a part of the width stays there however wide the range is.
  const double x = canvas()->mapFromGlobal(at(canvas(), inLanes(0.3))).x();
  const double under = timeline().axis().toNs(x);
  const double length = state().range().lengthNs();
  wheelAt(canvas(), inLanes(0.3), 1, [&] { return state().range().lengthNs() < length * 0.55; });
  EXPECT_NEAR(timeline().axis().toNs(x), under, timeline().axis().nsPerPixel());
  const TimeRange zoomed = state().range();
  wheelAt(canvas(), inLanes(0.3), -1, [&] { return state().range().startNs > zoomed.startNs; },
          {kKeyShift});
  EXPECT_NEAR(state().range().lengthNs(), zoomed.lengthNs(), 1);
  const double height = timeline().controller()->layout().height();
  const TimeRange moved = state().range();
  wheelAt(canvas(), inLanes(0.3), 1,
          [&] { return timeline().controller()->layout().height() > height * 1.1; }, {kKeyAlt});
  EXPECT_EQ(state().range(), moved);
  wheelAt(canvas(), inLanes(0.3), -1, [&] { return state().range().lengthNs() > length * 0.9; });
}

TEST_P(TimelineXTest, ADragMeasuresACtrlDragFiltersAndEscTakesBothBack) {
  openAtStep20();
  // Asked anew each time: a scroll bar that comes takes some of the width.
  const auto perPixel = [this] { return timeline().axis().nsPerPixel(); };
  dragAt(canvas(), inLanes(0.3), {200, 6});
  ASSERT_TRUE(waitUntil([&] {
    const auto& measured = timeline().controller()->measured();
    return measured && std::abs(measured->lengthNs() - 200 * perPixel()) < 2 * perPixel();
  }));
  EXPECT_FALSE(state().filter().has_value());
  EXPECT_TRUE(frameSays(ui::formatDuration(timeline().controller()->measured()->lengthNs())));
  dragAt(canvas(), inLanes(0.4), {150, 4}, 1, {kKeyControl});
  ASSERT_TRUE(waitUntil([&] { return state().filter().has_value(); }));
  EXPECT_NEAR(state().filter()->lengthNs(), 150 * perPixel(), 2 * perPixel());
  EXPECT_TRUE(waitUntil([&] { return status().startsWith("Statistics: "); }));
  press(kKeyEscape);
  EXPECT_TRUE(waitUntil([&] { return !timeline().controller()->measured(); }));
  press(kKeyEscape);
  EXPECT_TRUE(waitUntil([&] { return !state().filter(); }));
  press('z', {kKeyControl});
  ASSERT_TRUE(waitUntil([&] { return state().filter().has_value(); })) << "undone";
  for (auto* button : timeline().findChildren<QToolButton*>()) {
    if (button->text() == "Clear filter") click(button);
  }
  EXPECT_TRUE(waitUntil([&] { return !state().filter() && status().isEmpty(); }));
}

TEST_P(TimelineXTest, TheMiddleAndTheRightButtonMoveTheViewAndOpenNoMenu) {
  openAtStep20();
  for (const std::uint8_t button : {kMiddleButton, kRightButton}) {
    const TimeRange before = state().range();
    dragAt(canvas(), inLanes(0.6), {-120, 0}, button);
    ASSERT_TRUE(waitUntil([&] {
      const double perPixel = timeline().axis().nsPerPixel();
      return std::abs(state().range().startNs - before.startNs - 120 * perPixel) < 2 * perPixel;
    })) << state().range().startNs - before.startNs;
    EXPECT_NEAR(state().range().lengthNs(), before.lengthNs(), 1);
  }
  EXPECT_EQ(timeline().findChild<QMenu*>("timelineMenu"), nullptr);
  EXPECT_FALSE(selection().has_value());
}

TEST_P(TimelineXTest, AClickSelectsForTheInspectorAndADoubleClickZooms) {
  openAtStep20();
  const Span span = spanOf(EventKind::kCollective, 20, 0, std::uint16_t{1});
  clickOn(span);
  ASSERT_TRUE(waitUntil([&] { return selection() && selection()->id == span.id; }));
  auto* title = find<QLabel>("inspectorTitle");
  ASSERT_TRUE(waitUntil([&] { return title->isVisible() && title->text().contains("allreduce"); }));
  const Span forward = spanOf(EventKind::kForward, 20, 0);
  doubleClickAt(&timeline(), on(forward));
  ASSERT_TRUE(waitUntil([&] { return selection() && selection()->id == forward.id; }));
  EXPECT_TRUE(waitUntil([&] {
    return std::abs(state().range().lengthNs() - forward.durationNs * 1.5) <
           forward.durationNs * 0.02;
  })) << state().range().lengthNs() / forward.durationNs;
  EXPECT_TRUE(waitUntil([&] { return title->text().contains("forward", Qt::CaseInsensitive); }));
}

TEST_P(TimelineXTest, UnderThePointerStandsWhatABarIs) {
  openAtStep20();
  const Span span = spanOf(EventKind::kBackward, 20, 0);
  const Screenshot before = input_.screenshot();
  point(&timeline(), on(span));
  ASSERT_TRUE(waitUntil([&] { return state().hovered() && state().hovered()->id == span.id; }));
  EXPECT_TRUE(frameSays(ui::formatDuration(span.durationNs)));
  EXPECT_TRUE(waitUntil([&] { return pixelsChangedSince(before) > 1000; })) << "a card, on screen";
  keep(input_.screenshot(), QString("timeline-hover-") + GetParam());
  input_.moveTo(kScreenWidth - 2, kScreenHeight - 2);
  EXPECT_TRUE(waitUntil([&] { return !state().hovered(); }));
}

TEST_P(TimelineXTest, AClickOnARanksHeaderFoldsItAndAQuickSecondOneUnfoldsIt) {
  openAtStep20();
  const auto lanes = [&] { return timeline().controller()->layout().ranks().front(); };
  const auto header = [&] {
    return std::optional(QPointF(40, ui::timeline_metrics::kRulerHeight + lanes().top + 12 -
                                         timeline().controller()->scrollY()));
  };
  const double open = lanes().height;
  clickAt(canvas(), header);
  ASSERT_TRUE(waitUntil([&] { return lanes().collapsed && lanes().height < open; }));
  doubleClickAt(canvas(), header);
  EXPECT_TRUE(waitUntil([&] { return lanes().collapsed; })) << "opened and folded again";
  clickAt(canvas(), header);
  EXPECT_TRUE(waitUntil([&] { return !lanes().collapsed; }));
}

TEST_P(TimelineXTest, TheMenuOfTheRightButtonIsAboutWhatLiesUnderIt) {
  openAtStep20();
  const Span span = spanOf(EventKind::kCollective, 20, 0, std::uint16_t{0});
  const auto choose = [&](const QString& entry) {
    clickAt(&timeline(), on(span), kRightButton);
    chooseFromMenu(entry);
  };
  choose("Copy as JSON");
  EXPECT_TRUE(waitUntil([] { return QGuiApplication::clipboard()->text().contains("allreduce"); }));
  choose("Show rank 0 alone");
  ASSERT_TRUE(waitUntil([&] { return timeline().controller()->layout().ranks().size() == 1; }));
  choose("Show all ranks");
  ASSERT_TRUE(waitUntil([&] { return timeline().controller()->layout().ranks().size() == 2; }));
  choose("Find all");
  auto* line = find<QLineEdit>("findText");
  ASSERT_TRUE(waitUntil([&] { return line->isVisible() && line->hasFocus(); }));
  EXPECT_EQ(line->text(), "name:allreduce bucket:0");
  press(kKeyEscape);
  ASSERT_TRUE(waitUntil([&] { return !line->isVisible() && timeline().hasFocus(); }));
  choose("Bookmark here");
  ASSERT_TRUE(waitUntil([&] { return timeline().annotations().marks().size() == 1; }));
  choose("Filter statistics");
  ASSERT_TRUE(waitUntil([&] { return state().filter() == state().range(); }));
  choose("Clear the filter");
  ASSERT_TRUE(waitUntil([&] { return !state().filter(); }));
  choose("Zoom to this span");
  EXPECT_TRUE(waitUntil([&] {
    return std::abs(state().range().lengthNs() - span.durationNs * 1.5) < span.durationNs * 0.02;
  }));
}

TEST_P(TimelineXTest, TheWindowOfTheOverviewIsDraggedResizedAndPutElsewhere) {
  openAtStep20();
  const ui::Canvas* strip = timeline().overview()->canvas();
  const auto step30 = model().stepOfAll(30);
  clickAt(strip, overviewAt(step30->startNs));
  ASSERT_TRUE(waitUntil([&] {
    const TimeRange range = state().range();
    return range.startNs < step30->startNs && range.endNs > step30->startNs;
  }));
  // Wide enough to be gripped in the middle and at its edge.
  const TimeRange extent = model().extent();
  const TimeRange half{extent.startNs + extent.lengthNs() * 0.2,
                       extent.startNs + extent.lengthNs() * 0.6};
  state().setRange(half);
  const double perPixel = timeline().overview()->axis().nsPerPixel();
  dragAt(strip, overviewAt((half.startNs + half.endNs) / 2), {60, 0});
  ASSERT_TRUE(waitUntil([&] {
    return std::abs(state().range().startNs - half.startNs - 60 * perPixel) < 3 * perPixel;
  }));
  EXPECT_NEAR(state().range().lengthNs(), half.lengthNs(), 1);
  const TimeRange moved = state().range();
  dragAt(strip, overviewAt(moved.endNs), {-50, 0});
  ASSERT_TRUE(waitUntil([&] {
    return std::abs(moved.endNs - state().range().endNs - 50 * perPixel) < 4 * perPixel;
  }));
  EXPECT_NEAR(state().range().startNs, moved.startNs, 1);
  const double length = state().range().lengthNs();
  wheelAt(strip, overviewAt(moved.startNs + length / 2), 1,
          [&] { return state().range().lengthNs() < length * 0.8; });
  doubleClickAt(strip, overviewAt(extent.startNs + extent.lengthNs() * 0.9));
  EXPECT_TRUE(waitUntil([&] { return state().range().lengthNs() >= extent.lengthNs(); }));
}

LOCKSTEP_ON_BOTH_PAINTERS(TimelineXTest);

}  // namespace
}  // namespace lockstep
