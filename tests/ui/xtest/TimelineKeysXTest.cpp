#include <QMenu>
#include <cmath>

#include "engine/trace/Event.h"
#include "tests/ui/xtest/TimelineXFixture.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/layers/NotesLayer.h"

namespace lockstep {
namespace {

using namespace tests;
using trace::EventKind;
using ui::Span;
using ui::TimeRange;

// The timeline in the window, by the keyboard.
class TimelineKeysXTest : public TimelineXFixture {};

TEST_P(TimelineKeysXTest, ANoteIsWrittenChangedAndRemovedWhereItStands) {
  openAtStep20();
  const Span span = spanOf(EventKind::kBackward, 20, 0);
  clickOn(span);
  ASSERT_TRUE(waitUntil([&] { return selection() && selection()->id == span.id; }));
  press('n');
  ASSERT_TRUE(waitUntil([&] { return noteLine() != nullptr; }));
  type("slow w");  // with the keys of the view
  ASSERT_TRUE(waitUntil([&] { return noteLine() != nullptr && noteLine()->text() == "slow w"; }));
  press(kKeyReturn);
  ASSERT_TRUE(waitUntil([&] { return timeline().annotations().marks().size() == 1; }));
  EXPECT_EQ(timeline().annotations().marks()[0].text, "slow w");
  EXPECT_EQ(timeline().annotations().marks()[0].span, span.id);
  EXPECT_TRUE(frameSays("slow w"));
  const auto flag = [&] {
    return std::optional(
        ui::flagRect(timeline().annotations().marks()[0], timeline().axis()).center());
  };
  doubleClickAt(canvas(), flag);
  ASSERT_TRUE(waitUntil([&] { return noteLine() != nullptr; }));
  press('a', {kKeyControl});
  type("big");
  press(kKeyReturn);
  ASSERT_TRUE(waitUntil([&] { return timeline().annotations().marks()[0].text == "big"; }));
  clickAt(canvas(), flag, kRightButton);
  chooseFromMenu("Remove the note");
  EXPECT_TRUE(waitUntil([&] { return timeline().annotations().marks().empty(); }));
  press('z', {kKeyControl});
  EXPECT_TRUE(waitUntil([&] { return timeline().annotations().marks().size() == 1; }));
}

TEST_P(TimelineKeysXTest, KeysMarkPlacesAndGoBetweenThem) {
  openAtStep20();
  const TimeRange start = state().range();
  const double middle = (start.startNs + start.endNs) / 2;
  press('b');
  ASSERT_TRUE(waitUntil([&] { return timeline().annotations().marks().size() == 1; }));
  press(kKeyEnd);
  ASSERT_TRUE(waitUntil([&] { return state().range().startNs > start.endNs; }));
  press(kKeyLeft, {kKeyControl});
  ASSERT_TRUE(waitUntil([&] {
    return std::abs((state().range().startNs + state().range().endNs) / 2 - middle) < 1;
  }));
  press(kKeyHome);
  ASSERT_TRUE(waitUntil([&] { return state().range().endNs < start.startNs; }));
  const TimeRange home = state().range();
  press(kKeyLeft, {kKeyAlt});
  ASSERT_TRUE(waitUntil([&] { return state().range().startNs > home.endNs; })) << "view before";
  press(kKeyRight, {kKeyAlt});
  EXPECT_TRUE(waitUntil([&] { return rangeIs(home); })) << "view after";
}

TEST_P(TimelineKeysXTest, DigitsStoreAndRecallViewsAndTheirMenuDoesTheSame) {
  openAtStep20();
  const TimeRange stored = state().range();
  press('3', {kKeyAlt});
  ASSERT_TRUE(waitUntil([&] { return timeline().annotations().view(3) == stored; }));
  press(kKeyEnd);
  ASSERT_TRUE(waitUntil([&] { return state().range() != stored; }));
  press('3');
  ASSERT_TRUE(waitUntil([&] { return rangeIs(stored); }));
  press(kKeyEnd);
  ASSERT_TRUE(waitUntil([&] { return !rangeIs(stored); }));
  const TimeRange end = state().range();
  chooseFromMenuBar({"Go", "Timeline", "Store the view"});
  ASSERT_EQ(openMenu()->objectName(), "storedViews");
  chooseFromMenu("7");
  ASSERT_TRUE(waitUntil([&] { return timeline().annotations().view(7) == end; }));
  chooseFromMenuBar({"Go", "Timeline", "Go to a stored view"});
  QMenu* views = openMenu();
  EXPECT_TRUE(views->actions()[3]->isEnabled());
  EXPECT_FALSE(views->actions()[4]->isEnabled()) << "nothing is stored there";
  press('3');
  EXPECT_TRUE(waitUntil([&] { return rangeIs(stored); }));
}

TEST_P(TimelineKeysXTest, KeysWalkFromSpanToSpan) {
  openAtStep20();
  const Span forward = spanOf(EventKind::kForward, 20, 0);
  clickOn(forward);
  ASSERT_TRUE(waitUntil([&] { return selection() && selection()->id == forward.id; }));
  press('.');
  ASSERT_TRUE(waitUntil([&] { return selection()->startNs > forward.startNs; }));
  EXPECT_EQ(selection()->lane, forward.lane);
  press(',');
  ASSERT_TRUE(waitUntil([&] { return selection()->id == forward.id; }));
  press(']');
  ASSERT_TRUE(waitUntil([&] { return selection()->step == 21U; }));
  EXPECT_EQ(selection()->kind, EventKind::kForward);
  press('[');
  ASSERT_TRUE(waitUntil([&] { return selection()->id == forward.id; }));
  press('f');
  ASSERT_TRUE(waitUntil([&] { return state().range().lengthNs() < forward.durationNs * 2; }));
  press('f');
  EXPECT_TRUE(waitUntil([&] { return state().range().lengthNs() >= model().extent().lengthNs(); }))
      << "then all";
}

TEST_P(TimelineKeysXTest, KeysMoveZoomColourAndJoin) {
  openAtStep20();
  TimeRange before = state().range();
  press('w');
  ASSERT_TRUE(waitUntil([&] { return state().range().lengthNs() < before.lengthNs() * 0.75; }));
  before = state().range();
  press('d');
  ASSERT_TRUE(waitUntil([&] { return state().range().startNs > before.startNs; }));
  press(kKeyLeft);
  ASSERT_TRUE(waitUntil([&] { return rangeIs(before); }));
  press('s');
  ASSERT_TRUE(waitUntil([&] { return state().range().lengthNs() > before.lengthNs() * 1.3; }));
  press(kKeyPageDown);
  ASSERT_TRUE(waitUntil([&] { return state().iteration() == 21U; }));
  press('c');
  ASSERT_TRUE(waitUntil([&] { return state().colourBy() == ui::ColourBy::kBucket; }));
  press('g');
  ASSERT_TRUE(waitUntil([&] { return timeline().controller()->ribbons(); }));
  const double height = timeline().controller()->layout().height();
  press(kKeyUp, {kKeyShift});
  EXPECT_TRUE(waitUntil([&] { return timeline().controller()->layout().height() > height; }));
  chooseIn("colourBy", "Colour by wait");
  ASSERT_TRUE(waitUntil([&] { return state().colourBy() == ui::ColourBy::kWait; }));
  EXPECT_TRUE(waitUntil([&] { return timeline().hasFocus(); })) << "the keys work on";
  press('g');
  EXPECT_TRUE(waitUntil([&] { return !timeline().controller()->ribbons(); }));
}

TEST_P(TimelineKeysXTest, FindingGoesFromMatchToMatch) {
  openAtStep20();
  press('f', {kKeyControl});
  auto* line = find<QLineEdit>("findText");
  ASSERT_TRUE(waitUntil([&] { return line->isVisible() && line->hasFocus(); }));
  type("kind:optimizer rank:1");
  auto* result = find<QLabel>("findResult");
  ASSERT_TRUE(waitUntil([&] { return result->text() == "50 matches"; }))
      << line->text().toStdString() << ": " << result->text().toStdString();
  press(kKeyReturn);
  ASSERT_TRUE(waitUntil([&] { return selection().has_value(); }));
  EXPECT_EQ(selection()->kind, EventKind::kOptimizer);
  EXPECT_EQ(selection()->rank(), 1);
  const std::uint32_t step = selection()->step;
  press(kKeyF3);
  ASSERT_TRUE(waitUntil([&] { return selection()->step == step + 1; }));
  press(kKeyF3, {kKeyShift});
  ASSERT_TRUE(waitUntil([&] { return selection()->step == step; }));
  press(kKeyEscape);
  ASSERT_TRUE(waitUntil([&] { return !line->isVisible() && timeline().hasFocus(); }));
  EXPECT_TRUE(timeline().finder().query().empty());
}

TEST_P(TimelineKeysXTest, ALiveRunIsFollowedAndStandsStillAtSpace) {
  const auto run = openLive(20);
  showStage("timeline");
  ASSERT_TRUE(waitUntil([this] { return model().isLive() && state().followsLive(); }));
  const double before = state().range().endNs;
  run->steps(5);
  ASSERT_TRUE(waitUntil([&] { return state().range().endNs > before; })) << "followed";
  press(' ');
  ASSERT_TRUE(waitUntil([&] { return timeline().isFrozen(); }));
  EXPECT_EQ(status(), "Stands still (Space goes on)");
  const TimeRange still = state().range();
  run->steps(5);
  ASSERT_TRUE(waitUntil([&] { return model().lastStep(0)->step == 29U; }));
  EXPECT_EQ(state().range(), still);
  press(' ');
  ASSERT_TRUE(
      waitUntil([&] { return state().followsLive() && state().range().endNs > still.endNs; }));
  press('l');
  ASSERT_TRUE(waitUntil([&] { return !state().followsLive(); }));
  press('l');
  EXPECT_TRUE(waitUntil([&] { return state().followsLive(); }));
  run->finish(trace::RunState::kFinished);
  EXPECT_TRUE(waitUntil([this] { return !model().isLive(); }));
}

LOCKSTEP_ON_BOTH_PAINTERS(TimelineKeysXTest);

}  // namespace
}  // namespace lockstep
