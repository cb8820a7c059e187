#include "ui/model/ViewState.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

using RangeChange = ViewState::RangeChange;

Span span(std::int64_t id) {
  Span s;
  s.id = id;
  return s;
}

// Counts how often a signal came.
template <typename Signal>
void countOf(ViewState& state, Signal signal, int& counter) {
  QObject::connect(&state, signal, &state, [&counter] { ++counter; });
}

TEST(ViewState, UndoesAndRedoesRangeSelectionAndColouring) {
  ViewState state;
  state.setRange({0, 1000});
  state.setRange({100, 200});
  state.select(span(7));
  state.setColourBy(ColourBy::kBucket);

  state.undoStack().undo();
  EXPECT_EQ(state.colourBy(), ColourBy::kPhase);
  EXPECT_TRUE(state.selection().has_value());
  state.undoStack().undo();
  EXPECT_FALSE(state.selection().has_value());
  state.undoStack().undo();
  EXPECT_EQ(state.range(), (TimeRange{0, 1000}));
  state.undoStack().redo();
  state.undoStack().redo();
  EXPECT_EQ(state.range(), (TimeRange{100, 200}));
  ASSERT_TRUE(state.selection().has_value());
  EXPECT_EQ(state.selection()->id, 7);
}

TEST(ViewState, TellsAJumpFromATurnOfTheWheelAndFromFollowing) {
  ViewState state;
  state.setRange({0, 1000}, RangeChange::kSilent);
  EXPECT_EQ(state.rangeChange(), RangeChange::kSilent);
  state.setRange({100, 900}, RangeChange::kZoom);
  EXPECT_EQ(state.rangeChange(), RangeChange::kZoom);
  state.setRange({5000, 6000});
  EXPECT_EQ(state.rangeChange(), RangeChange::kJump);
  state.setRange({5100, 6100}, RangeChange::kPan);
  state.goBack();
  EXPECT_EQ(state.rangeChange(), RangeChange::kJump);
  state.setRange({5200, 6200}, RangeChange::kPan);
  state.undoStack().undo();
  EXPECT_EQ(state.rangeChange(), RangeChange::kJump);
}

TEST(ViewState, MergesZoomsThatFollowEachOtherIntoOneUndo) {
  ViewState state;
  state.setRange({0, 1000});
  for (int i = 1; i <= 20; ++i) {
    state.setRange({10.0 * i, 1000 - 10.0 * i}, RangeChange::kZoom);
  }
  EXPECT_EQ(state.undoStack().count(), 2);
  state.undoStack().undo();
  EXPECT_EQ(state.range(), (TimeRange{0, 1000}));
}

TEST(ViewState, KeepsZoomsAndPansApart) {
  ViewState state;
  state.setRange({0, 1000});
  state.setRange({100, 900}, RangeChange::kZoom);
  state.setRange({200, 1000}, RangeChange::kPan);
  state.undoStack().undo();
  EXPECT_EQ(state.range(), (TimeRange{100, 900}));
}

TEST(ViewState, FollowingALiveRunLeavesTheUndoStackAlone) {
  ViewState state;
  state.setFollowLive(true);
  state.setRange({0, 1000}, RangeChange::kSilent);
  state.select(span(3));
  state.setRange({5000, 6000}, RangeChange::kSilent);
  EXPECT_TRUE(state.followsLive());
  EXPECT_EQ(state.undoStack().count(), 1);
  state.undoStack().undo();
  EXPECT_FALSE(state.selection().has_value());
  EXPECT_EQ(state.range(), (TimeRange{5000, 6000})) << "undoing a selection moves nothing";
}

TEST(ViewState, AFilterIsUndoneByItselfAndAnEmptyOneIsNone) {
  ViewState state;
  int changes = 0;
  countOf(state, &ViewState::filterChanged, changes);
  state.setRange({0, 1000});
  state.setFilter(TimeRange{100, 200});
  state.setFilter(TimeRange{100, 200});
  EXPECT_EQ(changes, 1);
  state.setRange({0, 500});
  state.setFilter(TimeRange{300, 300});
  EXPECT_FALSE(state.filter().has_value());
  state.undoStack().undo();
  EXPECT_EQ(state.filter(), (TimeRange{100, 200}));
  EXPECT_EQ(state.range(), (TimeRange{0, 500})) << "undoing a filter moves nothing";
  state.reset();
  EXPECT_FALSE(state.filter().has_value());
}

TEST(ViewState, GoesBackAndForwardAmongWhatWasSeen) {
  ViewState state;
  state.setRange({0, 1000}, RangeChange::kSilent);
  EXPECT_FALSE(state.canGoBack());
  for (int i = 1; i <= 5; ++i) {
    state.setRange({10.0 * i, 1000 - 10.0 * i}, RangeChange::kZoom);
  }
  state.setRange({5000, 6000});
  state.goBack();
  EXPECT_EQ(state.range(), (TimeRange{50, 950})) << "a turn of the wheel is one view";
  state.goBack();
  EXPECT_EQ(state.range(), (TimeRange{0, 1000}));
  state.goBack();
  EXPECT_EQ(state.range(), (TimeRange{0, 1000}));
  state.goForward();
  state.goForward();
  EXPECT_EQ(state.range(), (TimeRange{5000, 6000}));
  state.goBack();
  state.setRange({7000, 8000});
  EXPECT_FALSE(state.canGoForward()) << "from here on it is another way";
  state.undoStack().undo();
  EXPECT_EQ(state.range(), (TimeRange{50, 950}));
}

TEST(ViewState, EndsFollowingWhenTheUserMoves) {
  ViewState state;
  state.setFollowLive(true);
  state.setRange({0, 1000}, RangeChange::kPan);
  EXPECT_FALSE(state.followsLive());
}

TEST(ViewState, WidensARangeThatIsTooNarrowAboutItsMiddle) {
  ViewState state;
  state.setRange({500, 500});
  EXPECT_EQ(state.range(), (TimeRange{495, 505}));
}

TEST(ViewState, SpeaksOnlyWhenSomethingChanged) {
  ViewState state;
  int ranges = 0;
  int selections = 0;
  countOf(state, &ViewState::rangeChanged, ranges);
  countOf(state, &ViewState::selectionChanged, selections);
  state.setRange({0, 100});
  state.setRange({0, 100});
  state.select(span(1));
  state.select(span(1));
  EXPECT_EQ(ranges, 1);
  EXPECT_EQ(selections, 1);
}

TEST(ViewState, ForgetsEverythingOnReset) {
  ViewState state;
  state.setRange({10, 100});
  state.select(span(1));
  state.setHovered(span(2));
  state.setFollowLive(true);
  state.setIteration(4);
  state.reset();
  EXPECT_TRUE(state.range().empty());
  EXPECT_FALSE(state.selection() || state.hovered() || state.iteration());
  EXPECT_FALSE(state.followsLive());
  EXPECT_FALSE(state.undoStack().canUndo());
}

TEST(ViewState, TheShownRanksAreKeptInOrderUndoneAndForgottenWithTheRun) {
  ViewState state;
  EXPECT_TRUE(state.shownRanks().empty());
  int changes = 0;
  QObject::connect(&state, &ViewState::shownRanksChanged, [&] { ++changes; });
  state.showRanks({700, 3, 700, 512});
  state.showRanks({700, 3, 512});
  EXPECT_EQ(state.shownRanks(), (std::vector<int>{700, 3, 512}));
  EXPECT_EQ(changes, 1);
  state.undoStack().undo();
  EXPECT_TRUE(state.shownRanks().empty());
  state.undoStack().redo();
  state.reset();
  EXPECT_TRUE(state.shownRanks().empty());
}

TEST(ViewState, TheChoiceOfCountersIsUndoneAndForgottenWithTheRun) {
  ViewState state;
  EXPECT_EQ(state.counters(), (QStringList{"resident_bytes", "cpu_percent"}));
  int changes = 0;
  QObject::connect(&state, &ViewState::countersChanged, [&] { ++changes; });
  state.setCounters({"loss"});
  state.setCounters({"loss"});
  EXPECT_EQ(state.counters(), QStringList{"loss"});
  EXPECT_EQ(changes, 1);
  state.undoStack().undo();
  EXPECT_EQ(state.counters(), ViewState::usualCounters());
  state.undoStack().redo();
  state.reset();
  EXPECT_EQ(state.counters(), ViewState::usualCounters());
}

}  // namespace
}  // namespace lockstep::ui
