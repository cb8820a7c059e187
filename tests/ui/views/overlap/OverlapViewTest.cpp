#include "engine/trace/Event.h"
#include "ui/views/overlap/OverlapView.h"

#include <QTableView>
#include <QWheelEvent>

#include "tests/ui/views/AnalysedViewFixture.h"

namespace lockstep::ui {
namespace {

class OverlapViewTest : public AnalysedViewFixture<OverlapView> {
 protected:
  void open(const test::DemoOptions& options = {}) {
    view_->showPicture(OverlapView::kIterations);
    openDemo([this] { return view_->content() != nullptr; }, options);
  }
};

TEST_P(OverlapViewTest, AClickOnABarSelectsTheIterationAndMovesThere) {
  open();
  click(*view_->scene().positionOf({1, 30}));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->kind, trace::EventKind::kStep);
  EXPECT_EQ(state_.selection()->rank(), 1);
  EXPECT_EQ(state_.selection()->step, 30u);
  const auto step = model_->step(1, 30);
  EXPECT_LT(state_.range().startNs, step->startNs);
  EXPECT_GT(state_.range().endNs, step->endNs);
  EXPECT_LT(state_.range().lengthNs(), 1.5 * (step->endNs - step->startNs));
  EXPECT_EQ(view_->stepsTable()->currentIndex().siblingAtColumn(1).data().toString(),
            QStringLiteral("30"))
      << "the table follows";
  state_.undoStack().undo();
  EXPECT_FALSE(state_.selection().has_value());
}

TEST_P(OverlapViewTest, AClickOnACauseSelectsTheWorstCollectiveOfIt) {
  open();
  ASSERT_FALSE(view_->content()->reasons.empty());
  const analysis::TailItem worst = view_->content()->reasons[0].worst;
  click(*view_->scene().positionOfReason(0));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->kind, trace::EventKind::kCollective);
  EXPECT_EQ(state_.selection()->rank(), worst.rank);
  EXPECT_EQ(state_.selection()->step, worst.step);
  EXPECT_EQ(state_.selection()->bucket, worst.bucket);
}

TEST_P(OverlapViewTest, ARowOfTheTableSelectsTheSame) {
  open();
  view_->stepsTable()->setCurrentIndex(view_->stepsTable()->model()->index(12, 0));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->step, 12u);
  EXPECT_EQ(state_.selection()->rank(), 0);
}

TEST_P(OverlapViewTest, FollowsASelectionMadeElsewhere) {
  open();
  Span span;
  span.id = 1;
  span.lane = laneId(1, LaneRole::kCommunication);
  span.step = 7;
  state_.select(span);
  EXPECT_EQ(view_->stepsTable()->currentIndex().siblingAtColumn(0).data().toString(),
            QStringLiteral("1"));
  EXPECT_EQ(view_->stepsTable()->currentIndex().siblingAtColumn(1).data().toString(),
            QStringLiteral("7"));
  EXPECT_FALSE(state_.undoStack().canRedo());
}

TEST_P(OverlapViewTest, ArrowsMoveTheSelectionOverIterationsAndRanks) {
  open();
  click(*view_->scene().positionOf({0, 20}));
  trigger(Qt::Key_Right);
  EXPECT_EQ(state_.selection()->step, 21u);
  trigger(Qt::Key_Down);
  EXPECT_EQ(state_.selection()->rank(), 1);
  trigger(Qt::Key_Left);
  trigger(Qt::Key_Up);
  EXPECT_EQ(state_.selection()->step, 20u);
  EXPECT_EQ(state_.selection()->rank(), 0);
  trigger(Qt::Key_Escape);
  EXPECT_FALSE(state_.selection().has_value());
}

TEST_P(OverlapViewTest, TheWheelZoomsAndAllIsShownAgain) {
  open();
  const double before = view_->scene().pixelsPerStep();
  const QPointF at = *view_->scene().positionOf({0, 25});
  for (int i = 0; i < 3; ++i) {
    QWheelEvent event(at, surface()->mapToGlobal(at), QPoint(), QPoint(0, 120), Qt::NoButton,
                      Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(surface(), &event);
  }
  EXPECT_GT(view_->scene().pixelsPerStep(), 2 * before);
  EXPECT_NEAR(view_->scene().stepOf(at.x()), 25.5, 0.6);
  trigger(Qt::Key_F);
  EXPECT_NEAR(view_->scene().pixelsPerStep(), before, 1e-6);
}

TEST_P(OverlapViewTest, ADragMovesAndSelectsNothing) {
  open();
  trigger(Qt::Key_W);
  trigger(Qt::Key_W);
  const QPointF at = view_->scene().rows()[0].plot.center();
  const double first = view_->scene().stepOf(view_->scene().rows()[0].plot.left());
  send(QEvent::MouseButtonPress, at, Qt::LeftButton);
  send(QEvent::MouseMove, at + QPointF(60, 0), Qt::LeftButton);
  send(QEvent::MouseButtonRelease, at + QPointF(60, 0), Qt::NoButton);
  EXPECT_LT(view_->scene().stepOf(view_->scene().rows()[0].plot.left()), first);
  EXPECT_FALSE(state_.selection().has_value());
}

TEST_P(OverlapViewTest, AClickOnARankListsItsCausesAlone) {
  open();
  const auto title = [&] {
    DisplayList list;
    view_->scene().draw(list);
    for (const QString& text : list.texts()) {
      if (text.startsWith(QStringLiteral("Why"))) {
        return text;
      }
    }
    return QString();
  };
  EXPECT_TRUE(title().contains(QStringLiteral("all ranks")));
  click(view_->scene().rows()[1].label.center());
  EXPECT_TRUE(title().contains(QStringLiteral("rank 1")));
  click(view_->scene().rows()[1].label.center());
  EXPECT_TRUE(title().contains(QStringLiteral("all ranks")));
}

TEST_P(OverlapViewTest, ADoubleClickAndTheReturnKeyAskForTheTimeline) {
  open();
  QSignalSpy asked(view_.get(), &OverlapView::timelineRequested);
  send(QEvent::MouseButtonDblClick, *view_->scene().positionOf({0, 3}), Qt::LeftButton);
  EXPECT_EQ(asked.size(), 1);
  trigger(Qt::Key_Return);
  EXPECT_EQ(asked.size(), 2);
}

TEST_P(OverlapViewTest, SpeaksInSentencesAlsoWhenThereIsNothing) {
  EXPECT_EQ(view_->content(), nullptr);
  EXPECT_FALSE(view_->canvas()->isVisible()) << "a sentence and a button stand instead";
  open();
  EXPECT_TRUE(view_->canvas()->isVisible());
  EXPECT_TRUE(view_->canvas()->accessibleDescription().contains(QStringLiteral("exposed a step")));
  view_->setRun({});
  EXPECT_FALSE(view_->canvas()->isVisible());
}

TEST_P(OverlapViewTest, ForgetsARunThatIsGone) {
  open();
  view_->setRun({});
  analyser_.reset();
  model_.reset();
  open();
  EXPECT_EQ(view_->content()->ranks.size(), 2);
}

INSTANTIATE_TEST_SUITE_P(Painters, OverlapViewTest, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui
