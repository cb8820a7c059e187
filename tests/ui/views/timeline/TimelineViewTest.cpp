#include <QScrollBar>
#include <QSignalSpy>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"
#include "tests/ui/views/EmptySentence.h"
#include "tests/ui/views/timeline/TimelineViewFixture.h"

namespace lockstep::ui {
namespace {

TEST_P(TimelineViewTest, TheWheelZoomsAndKeepsTheTimeUnderTheCursor) {
  open();
  const QPointF cursor(700, 200);
  const double ns = view_->axis().toNs(cursor.x());
  const double before = state_.range().lengthNs();
  for (int i = 0; i < 8; ++i) {
    wheel(cursor, 1);
    ASSERT_NEAR(view_->axis().toX(ns), cursor.x(), 0.5);
  }
  EXPECT_LT(state_.range().lengthNs(), before / 4);
  for (int i = 0; i < 8; ++i) {
    wheel(cursor, -1);
  }
  EXPECT_NEAR(state_.range().lengthNs(), before, before * 1e-6);
  state_.undoStack().undo();
  EXPECT_NEAR(state_.range().lengthNs(), before, before * 1e-6) << "one undo for the whole turn";
}

TEST_P(TimelineViewTest, ShiftAndWheelMoveSideways) {
  open();
  const TimeRange before = state_.range();
  wheel({700, 200}, -1, Qt::ShiftModifier);
  EXPECT_GT(state_.range().startNs, before.startNs);
  EXPECT_NEAR(state_.range().lengthNs(), before.lengthNs(), 1);
}

TEST_P(TimelineViewTest, AClickSelectsWhatLiesUnderIt) {
  open();
  for (const EventKind kind : {EventKind::kForward, EventKind::kBackward, EventKind::kCollective}) {
    const Span span = first(kind);
    QTest::mouseClick(surface(), Qt::LeftButton, {}, at(span));
    ASSERT_TRUE(state_.selection().has_value());
    EXPECT_EQ(state_.selection()->kind, kind);
    EXPECT_EQ(state_.selection()->step, 20u);
  }
  // Below the last lane there is nothing.
  QTest::mouseClick(surface(), Qt::LeftButton, {}, QPoint(700, surface()->height() - 3));
  EXPECT_FALSE(state_.selection().has_value());
}

TEST_P(TimelineViewTest, TheMouseOverASpanShowsItsFactsAndLeavesNothingBehind) {
  open();
  const Span span = first(EventKind::kForward);
  moveTo(at(span));
  ASSERT_TRUE(state_.hovered().has_value());
  EXPECT_EQ(state_.hovered()->id, span.id);
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(surface(), &leave);
  EXPECT_FALSE(state_.hovered().has_value());
}

TEST_P(TimelineViewTest, ADoubleClickZoomsToTheSpan) {
  open();
  const Span span = first(EventKind::kForward);
  QTest::mouseDClick(surface(), Qt::LeftButton, {}, at(span));
  EXPECT_NEAR(state_.range().lengthNs(), span.durationNs * 1.5, span.durationNs * 0.01);
  EXPECT_LT(state_.range().startNs, span.startNs);
  EXPECT_GT(state_.range().endNs, span.endNs());
}

TEST_P(TimelineViewTest, ADragMeasuresAndSelectsNothing) {
  open();
  QTest::mousePress(surface(), Qt::LeftButton, {}, QPoint(400, 200));
  moveTo({500, 205}, Qt::LeftButton);
  moveTo({600, 205}, Qt::LeftButton);
  QTest::mouseRelease(surface(), Qt::LeftButton, {}, QPoint(600, 205));
  EXPECT_FALSE(state_.selection().has_value());
  const TimelineController* controller = view_->controller();
  ASSERT_TRUE(controller->frame().measured.has_value());
  const double expected = 200 * view_->axis().nsPerPixel();
  EXPECT_NEAR(controller->frame().measured->lengthNs(), expected, expected * 0.02);
  trigger("Esc");
  EXPECT_FALSE(controller->frame().measured.has_value());
}

TEST_P(TimelineViewTest, TheRightButtonDragsTheTime) {
  open();
  const TimeRange before = state_.range();
  const double nsPerPixel = view_->axis().nsPerPixel();
  QTest::mousePress(surface(), Qt::RightButton, {}, QPoint(600, 200));
  moveTo({540, 200}, Qt::RightButton);
  moveTo({500, 200}, Qt::RightButton);
  QTest::mouseRelease(surface(), Qt::RightButton, {}, QPoint(500, 200));
  EXPECT_NEAR(state_.range().startNs - before.startNs, 100 * nsPerPixel, nsPerPixel * 1.5);
}

TEST_P(TimelineViewTest, AClickOnARankFoldsItAndAnotherUnfolds) {
  open();
  const double whole = view_->controller()->layout().height();
  const double top = view_->controller()->layout().ranks().front().top;
  const QPoint header(40, static_cast<int>(timeline_metrics::kRulerHeight + top) + 10);
  QTest::mouseClick(surface(), Qt::LeftButton, {}, header);
  EXPECT_LT(view_->controller()->layout().height(), whole);
  // A quick second click comes as a double click.
  QTest::mouseDClick(surface(), Qt::LeftButton, {}, header);
  EXPECT_DOUBLE_EQ(view_->controller()->layout().height(), whole);
}

TEST_P(TimelineViewTest, KeysZoomMoveAndJump) {
  open();
  const TimeRange start = state_.range();
  trigger("W");
  EXPECT_NEAR(state_.range().lengthNs(), start.lengthNs() * 0.7, 1);
  trigger("S");
  EXPECT_NEAR(state_.range().lengthNs(), start.lengthNs(), 1);
  trigger("D");
  EXPECT_GT(state_.range().startNs, start.startNs);
  trigger("A");
  EXPECT_NEAR(state_.range().startNs, start.startNs, 1);
  EXPECT_EQ(state_.iteration(), 20u);
  trigger("PgDown");
  EXPECT_EQ(state_.iteration(), 21u);
  trigger("PgUp");
  trigger("PgUp");
  EXPECT_EQ(state_.iteration(), 19u);
  trigger("Home");
  EXPECT_NEAR(state_.range().startNs, model_.extent().startNs, 1);
  trigger("End");
  EXPECT_NEAR(state_.range().endNs, model_.extent().endNs, 1);
}

TEST_P(TimelineViewTest, FocusShowsTheSelectionThenTheWholeRun) {
  open();
  state_.select(first(EventKind::kBackward));
  trigger("F");
  EXPECT_NEAR(state_.range().lengthNs(), state_.selection()->durationNs * 1.5, 1e3);
  trigger("F");
  EXPECT_LT(state_.range().startNs, model_.extent().startNs);
  EXPECT_GT(state_.range().endNs, model_.extent().endNs);
}

TEST_P(TimelineViewTest, StepsThroughALaneAndThroughTheSameName) {
  open();
  state_.select(first(EventKind::kForward));
  trigger(".");
  EXPECT_EQ(state_.selection()->kind, EventKind::kBackward);
  trigger(",");
  EXPECT_EQ(state_.selection()->kind, EventKind::kForward);
  trigger("]");
  EXPECT_EQ(state_.selection()->kind, EventKind::kForward);
  EXPECT_EQ(state_.selection()->step, 21u);
  EXPECT_TRUE(view_->positionOf(*state_.selection()).has_value()) << "it is brought into sight";
  trigger("[");
  trigger("[");
  EXPECT_EQ(state_.selection()->step, 19u);
  trigger("Esc");
  EXPECT_FALSE(state_.selection().has_value());
}

TEST_P(TimelineViewTest, KeysReachTheTimelineThroughItsWindow) {
  open();
  // Without a window manager Qt takes the focus from the X server itself.
  view_->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(view_.get()));
  const double before = state_.range().lengthNs();
  QTest::keyClick(view_.get(), Qt::Key_W);
  EXPECT_LT(state_.range().lengthNs(), before);
}

TEST_P(TimelineViewTest, ScrollsDownWhenTheWindowIsLow) {
  open();
  view_->resize(1200, 240);
  settle();
  auto* bar = view_->findChild<QScrollBar*>();
  ASSERT_NE(bar, nullptr);
  EXPECT_TRUE(bar->isVisible());
  EXPECT_GT(bar->maximum(), 50);
  EXPECT_FALSE(view_->positionOf(first(EventKind::kCollective, 20, 1)).has_value());
  bar->setValue(bar->maximum());
  settle();
  EXPECT_TRUE(view_->positionOf(first(EventKind::kCollective, 20, 1)).has_value());
  state_.select(first(EventKind::kCollective, 20, 0));
  trigger("]");
  trigger("[");
  wheel({40, 150}, 20);
  EXPECT_EQ(bar->value(), 0) << "over the lane names the wheel scrolls";
}

TEST_P(TimelineViewTest, SaysWhyItIsEmpty) {
  settle();
  const auto texts = [&] {
    DisplayList list;
    view_->drawInto(list);
    return list.texts();
  };
  QSignalSpy wanted(view_.get(), &TimelineView::demoRequested);
  EXPECT_TRUE(test::says(*view_, "No run is open"));
  test::pressTheButtonOf(*view_);
  EXPECT_EQ(wanted.count(), 1);
  trace::RunUpdate update;
  update.info = trace::RunInfo{};
  update.info->state = trace::RunState::kRunning;
  model_.applyUpdate(update);
  view_->setRun({&model_, &state_});
  EXPECT_EQ(texts().front(), "The run is starting");
  update.info->state = trace::RunState::kFinished;
  model_.applyUpdate(update);
  EXPECT_EQ(texts().front(), "This run recorded no events");
}

TEST_P(TimelineViewTest, FollowsALiveRunWithItsLastIterations) {
  test::DemoOptions options;
  options.state = trace::RunState::kRunning;
  trace::RunUpdate run = test::demoRun(options);
  std::vector<trace::SpanRow> later(run.spans.begin() + static_cast<long>(run.spans.size() / 2),
                                    run.spans.end());
  run.spans.resize(run.spans.size() / 2);
  model_.applyUpdate(run);
  view_->setRun({&model_, &state_});
  trigger("L");
  EXPECT_TRUE(state_.followsLive());
  const double first = state_.range().endNs;
  const auto step = model_.lastStep(0);
  EXPECT_NEAR(state_.range().lengthNs(), 3 * (step->endNs - step->startNs),
              0.3 * state_.range().lengthNs());
  trace::RunUpdate rest;
  rest.spans = later;
  model_.applyUpdate(rest);
  EXPECT_TRUE(QTest::qWaitFor([&] { return state_.range().endNs > first; }));
  EXPECT_GE(state_.range().endNs, model_.extent().endNs);
  trigger("A");
  EXPECT_FALSE(state_.followsLive()) << "moving ends following";
}

TEST_P(TimelineViewTest, AFollowedRunThatFinishesKeepsItsLastIterationsInSight) {
  test::DemoOptions options;
  options.state = trace::RunState::kRunning;
  trace::RunUpdate run = test::demoRun(options);
  model_.applyUpdate(run);
  view_->setRun({&model_, &state_});
  trigger("L");

  const auto last = model_.lastStep(0);
  trace::RunUpdate end;
  trace::SpanRow evaluate = run.spans.back();
  for (const trace::SpanRow& span : run.spans) {
    if (span.kind == EventKind::kStep) evaluate = span;
  }
  evaluate.id = static_cast<std::int64_t>(run.spans.size()) + 1000;
  evaluate.kind = EventKind::kEvaluate;
  evaluate.startTicks += evaluate.durationTicks;
  evaluate.durationTicks *= 50;  // far longer than the iterations that are followed
  end.spans = {evaluate};
  model_.applyUpdate(end);
  ASSERT_TRUE(QTest::qWaitFor([&] { return state_.range().startNs > last->endNs; }))
      << "a live run is followed to its newest event";

  trace::RunUpdate over;
  over.info = run.info;
  over.info->state = trace::RunState::kFinished;
  model_.applyUpdate(over);
  EXPECT_TRUE(QTest::qWaitFor([&] {
    return state_.range().startNs < last->startNs && state_.range().endNs > last->endNs;
  }));
}

TEST_P(TimelineViewTest, UndoAndRedoTellTheIterationToo) {
  open();
  ASSERT_EQ(state_.iteration(), std::optional<std::uint32_t>(20));
  trigger("PgDown");
  ASSERT_EQ(state_.iteration(), std::optional<std::uint32_t>(21));
  state_.undoStack().undo();
  EXPECT_EQ(state_.iteration(), std::optional<std::uint32_t>(20));
  state_.undoStack().redo();
  EXPECT_EQ(state_.iteration(), std::optional<std::uint32_t>(21));
}

TEST_P(TimelineViewTest, MeasuresFromTheEndOfAnEventToTheFrameThatShowsIt) {
  open();
  trace::RunUpdate update;
  const std::uint64_t now = base::ticks();
  update.clock = base::ClockCalibration{now, 0, 1.0};
  RunModel live;
  update.tracks = std::vector<trace::TrackInfo>{{1, 0, "step"}};
  trace::SpanRow row;
  row.id = 1;
  row.track = 1;
  row.kind = EventKind::kStep;
  row.startTicks = now - 1000;
  row.durationTicks = 1000;
  update.spans = {row};
  live.applyUpdate(update);
  view_->setRun({&live, &state_});
  state_.setRange({-2000, 2000}, ViewState::RangeChange::kSilent);
  emit live.liveSpansApplied({now});
  settle();
  EXPECT_EQ(view_->eventToPixel().count(), 1u);
  EXPECT_GT(view_->eventToPixel().p95Ms(), 0);
  emit live.liveSpansApplied({now + 1'000'000'000'000});
  settle();
  EXPECT_EQ(view_->eventToPixel().count(), 1u) << "what is out of sight reaches no pixel";

  state_.setRange({-500, 2000}, ViewState::RangeChange::kSilent);
  emit live.liveSpansApplied({now - 800});
  settle();
  EXPECT_EQ(view_->eventToPixel().count(), 1u);
  state_.setFollowLive(true);
  state_.setRange({-500, 2000}, ViewState::RangeChange::kSilent);
  emit live.liveSpansApplied({now - 800});
  settle();
  EXPECT_EQ(view_->eventToPixel().count(), 2u) << "so late that following has passed it";

  state_.setRange({-2000, -200}, ViewState::RangeChange::kSilent);
  emit live.liveSpansApplied({now - 100});
  settle();
  EXPECT_EQ(view_->eventToPixel().count(), 2u) << "not followed to yet";
  state_.setRange({-2000, 2000}, ViewState::RangeChange::kSilent);
  settle();
  EXPECT_EQ(view_->eventToPixel().count(), 3u) << "counted by the frame that shows it";
  view_->setRun({});
}

// What ended while the timeline was hidden or stood still is not late: nobody waited for it.
TEST_P(TimelineViewTest, MeasuresNothingThatEndedOutOfSight) {
  open();
  RunModel live;
  trace::RunUpdate update;
  update.clock = base::ClockCalibration{base::ticks(), 0, 1.0};
  update.tracks = std::vector<trace::TrackInfo>{{1, 0, "step"}};
  trace::SpanRow row;
  row.id = 1;
  row.track = 1;
  row.kind = EventKind::kStep;
  row.startTicks = update.clock->originTicks - 1000;
  row.durationTicks = 1000;
  update.spans = {row};
  live.applyUpdate(update);
  view_->setRun({&live, &state_});
  state_.setRange({-1e12, 1e12}, ViewState::RangeChange::kSilent);
  settle();

  view_->hide();
  const std::uint64_t hidden = base::ticks();
  emit live.liveSpansApplied({hidden});
  view_->show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(view_->window()));
  emit live.liveSpansApplied({hidden});  // read late
  settle();
  EXPECT_EQ(view_->eventToPixel().count(), 0u);
  emit live.liveSpansApplied({base::ticks()});
  settle();
  EXPECT_EQ(view_->eventToPixel().count(), 1u);

  trigger("Space");
  ASSERT_TRUE(view_->isFrozen());
  const std::uint64_t still = base::ticks();
  emit live.liveSpansApplied({still});
  trigger("Space");
  emit live.liveSpansApplied({still});
  settle();
  EXPECT_EQ(view_->eventToPixel().count(), 1u);
  view_->setRun({});
}

TEST_P(TimelineViewTest, TellsAScreenReaderWhatIsShownAndSelected) {
  open();
  state_.select(first(EventKind::kCollective));
  const QString text = view_->accessibleDescription();
  EXPECT_TRUE(text.contains("2 ranks")) << text.toStdString();
  EXPECT_TRUE(text.contains("Selected: allreduce, bucket 0")) << text.toStdString();
  EXPECT_EQ(view_->accessibleName(), "Timeline");
}

TEST_P(TimelineViewTest, SurvivesTheEndOfItsModelAndState) {
  auto model = std::make_unique<RunModel>();
  auto state = std::make_unique<ViewState>();
  model->applyUpdate(test::demoRun());
  view_->setRun({model.get(), state.get()});
  settle();
  model.reset();
  settle();
  state.reset();
  settle();
  EXPECT_TRUE(test::says(*view_, "No run is open"));
}

TEST_P(TimelineViewTest, AStateThatEndsBeforeItsModelIsLetGo) {
  auto state = std::make_unique<ViewState>();
  model_.applyUpdate(test::demoRun());
  view_->setRun({&model_, state.get()});
  settle();
  state.reset();
  settle();
  wheel({700, 200}, 1);
  QTest::mouseClick(surface(), Qt::LeftButton, {}, QPoint(700, 200));
  EXPECT_EQ(view_->state(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Renderers, TimelineViewTest, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui
