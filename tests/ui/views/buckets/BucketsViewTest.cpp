#include "engine/trace/Event.h"
#include "ui/views/buckets/BucketsView.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QSlider>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>
#include <cmath>
#include <memory>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/EmptySentence.h"
#include "tests/ui/views/RenderedViewFixture.h"
#include "tests/ui/views/buckets/BucketRun.h"
#include "ui/panels/ElidedLabel.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

class BucketsViewTest : public RenderedViewFixture<BucketsView> {
 protected:
  void open(const trace::RunUpdate& update = test::BucketRun().update) {
    model_.applyUpdate(update);
    view_->setRun({&model_, &state_, nullptr});
    settle();
  }

  // Lets a frame with the latest state be painted.
  void settle() {
    QSignalSpy frames(view_.get(), &BucketsView::framePainted);
    view_->canvas()->repaintSoon();
    EXPECT_TRUE(QTest::qWaitFor([&] { return frames.count() > 0; }));
  }

  QWidget* surface() { return view_->canvas()->childAt(view_->canvas()->rect().center()); }
  BucketsLayout layout() { return view_->controller()->layout(); }
  const BucketStory& story() { return *view_->controller()->story(); }

  void click(QPointF at) { QTest::mouseClick(surface(), Qt::LeftButton, {}, at.toPoint()); }

  // Sent to the widget: QTest::mouseMove would move the one pointer of the X server, which
  // tests that run beside this one share.
  void moveTo(QPointF to, Qt::MouseButtons buttons = Qt::NoButton) {
    QMouseEvent event(QEvent::MouseMove, to, surface()->mapToGlobal(to), Qt::NoButton, buttons,
                      Qt::NoModifier);
    QApplication::sendEvent(surface(), &event);
  }

  void wheel(QPointF at, int notches) {
    QWheelEvent event(at, surface()->mapToGlobal(at), QPoint(), QPoint(0, 120 * notches),
                      Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(surface(), &event);
  }

  template <typename Widget>
  Widget* named(const char* name) {
    return view_->findChild<Widget*>(QString::fromLatin1(name));
  }

  RunModel model_;
  ViewState state_;
};

TEST_P(BucketsViewTest, ShowsTheIterationOfTheViewState) {
  open(test::demoRun());
  state_.setIteration(20);
  EXPECT_EQ(story().step, 20u);
  state_.setIteration(0);
  EXPECT_EQ(story().step, 0u);
  EXPECT_EQ(story().layout.layout, 0u);
}

TEST_P(BucketsViewTest, AClickOnACellSelectsTheGradientAndItsRowInTheTable) {
  open();
  state_.setIteration(1);
  click(layout().cells(1)[1].rect.center());
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->kind, EventKind::kGradientReady);
  EXPECT_EQ(state_.selection()->value, 1u);
  const auto* table = named<QTableView>("bucketsTable");
  ASSERT_EQ(table->selectionModel()->selectedRows().size(), 1);
  EXPECT_EQ(table->selectionModel()->selectedRows()[0].data().toString(), QStringLiteral("a.bias"));
}

TEST_P(BucketsViewTest, AClickOnABucketSelectsItsCollectiveAndAllItsRows) {
  open();
  state_.setIteration(1);
  click({30, layout().row(1).center().y()});
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->kind, EventKind::kCollective);
  EXPECT_EQ(state_.selection()->bucket, 1);
  EXPECT_EQ(named<QTableView>("bucketsTable")->selectionModel()->selectedRows().size(), 2);
}

TEST_P(BucketsViewTest, AClickOnATimeSelectsWhatTheRankDidThen) {
  open();
  state_.setIteration(1);
  const BucketsLayout at = layout();
  const auto clickAt = [&](double ns) {
    click({at.axis().toX(ns), at.strip(1, 1).center().y()});
    return state_.selection() ? state_.selection()->kind : EventKind::kGap;
  };
  EXPECT_EQ(clickAt(200e3), EventKind::kBucketReady) << "it fills";
  EXPECT_EQ(clickAt(300e3), EventKind::kBucketLaunched) << "it is stalled until its launch";
  EXPECT_EQ(clickAt(550e3), EventKind::kCollective);
  EXPECT_EQ(state_.selection()->rank(), 1);
}

TEST_P(BucketsViewTest, WhatIsSelectedElsewhereIsSelectedHere) {
  open();
  state_.setIteration(1);
  for (const Lane& lane : model_.lanes()) {
    for (std::size_t row = 0; row < lane.rows.size(); ++row) {
      for (std::size_t i = 0; i < lane.rows[row].size(); ++i) {
        const Span span = model_.spanAt(lane.id, static_cast<int>(row), i);
        if (span.kind == EventKind::kCollective && span.step == 1 && span.bucket == 2) {
          state_.select(span);
        }
      }
    }
  }
  EXPECT_EQ(view_->controller()->selectedBucket(), 2);
  EXPECT_EQ(named<QTableView>("bucketsTable")->selectionModel()->selectedRows().size(), 1);
}

TEST_P(BucketsViewTest, ARowOfTheTableSelectsTheGradient) {
  open();
  state_.setIteration(1);
  auto* table = named<QTableView>("bucketsTable");
  table->setCurrentIndex(table->model()->index(0, 5));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->value, 3u);
  EXPECT_EQ(state_.selection()->rank(), 1) << "the column of rank 1";
}

TEST_P(BucketsViewTest, WhatTheReplaySaysIsElidedAndMovesNoControl) {
  open();
  state_.setIteration(1);
  settle();
  const QRect slider = named<QSlider>("replaySlider")->geometry();
  trigger("Home");
  trigger("Right");
  settle();
  ASSERT_NE(named<ElidedLabel>("replayText"), nullptr);
  EXPECT_TRUE(named<ElidedLabel>("replayText")->toolTip().contains("ready"));
  EXPECT_EQ(named<QSlider>("replaySlider")->geometry(), slider);
}

TEST_P(BucketsViewTest, TheArrowsWalkThroughTheEventsOfTheReplay) {
  open();
  state_.setIteration(1);
  trigger("Home");
  ASSERT_TRUE(view_->controller()->replayNs().has_value());
  EXPECT_DOUBLE_EQ(*view_->controller()->replayNs(), 100e3);
  trigger("Right");
  EXPECT_DOUBLE_EQ(*view_->controller()->replayNs(), 110e3) << "bucket 0 is ready on rank 0";
  EXPECT_TRUE(
      named<QLabel>("replayText")->text().contains(QStringLiteral("bucket 0 ready on rank 0")));
  trigger("Left");
  EXPECT_DOUBLE_EQ(*view_->controller()->replayNs(), 100e3);
  trigger("End");
  EXPECT_FALSE(view_->controller()->replayNs().has_value());
  trigger("Left");
  EXPECT_DOUBLE_EQ(*view_->controller()->replayNs(), 700e3) << "the last that happened";
}

TEST_P(BucketsViewTest, SpacePlaysTheIterationToItsEnd) {
  open();
  state_.setIteration(1);
  trigger("Space");
  EXPECT_TRUE(view_->isPlaying());
  EXPECT_TRUE(
      QTest::qWaitFor([&] { return view_->controller()->replayNs().value_or(0) > 110e3; }, 10'000));
  trigger("Space");
  EXPECT_FALSE(view_->isPlaying());
  view_->setReplayPart(0.999);
  trigger("Space");
  EXPECT_TRUE(QTest::qWaitFor([&] { return !view_->isPlaying(); }, 10'000));
  EXPECT_FALSE(view_->controller()->replayNs().has_value());
}

TEST_P(BucketsViewTest, TheSliderAndTheRulerMoveTheReplay) {
  open();
  state_.setIteration(1);
  auto* slider = named<QSlider>("replaySlider");
  slider->setValue(slider->maximum() / 2);
  EXPECT_NEAR(*view_->controller()->replayNs(), 400e3, 1e3);
  click({layout().axis().toX(250e3), 30});
  EXPECT_NEAR(*view_->controller()->replayNs(), 250e3, 2e3);
  EXPECT_NEAR(slider->value(), slider->maximum() / 4, slider->maximum() / 100 + 1);
  trigger("Esc");
  EXPECT_FALSE(view_->controller()->replayNs().has_value());
}

TEST_P(BucketsViewTest, InitialAndRebuiltMoveBetweenTheIterationsThatUsedThem) {
  open(test::demoRun());
  state_.setIteration(20);
  named<QToolButton>("initialLayout")->click();
  EXPECT_EQ(story().step, 0u);
  EXPECT_EQ(state_.iteration(), 0u) << "all views go there";
  named<QToolButton>("rebuiltLayout")->click();
  EXPECT_EQ(story().step, 20u);
  trigger("R");
  EXPECT_EQ(story().step, 0u);
}

TEST_P(BucketsViewTest, PageKeysMoveByIterations) {
  open(test::demoRun());
  state_.setIteration(20);
  trigger("PgDown");
  EXPECT_EQ(story().step, 21u);
  trigger("PgUp");
  trigger("PgUp");
  EXPECT_EQ(story().step, 19u);
}

TEST_P(BucketsViewTest, UpAndDownSelectBuckets) {
  open();
  state_.setIteration(1);
  trigger("Down");
  EXPECT_EQ(view_->controller()->selectedBucket(), 0);
  trigger("Down");
  EXPECT_EQ(view_->controller()->selectedBucket(), 1);
  trigger("Up");
  EXPECT_EQ(view_->controller()->selectedBucket(), 0);
  trigger("Esc");
  EXPECT_EQ(view_->controller()->selectedBucket(), -1);
}

TEST_P(BucketsViewTest, TheWheelZoomsTheTimesAndKeepsTheOneUnderThePointer) {
  open();
  state_.setIteration(1);
  const QPointF at(layout().axis().toX(350e3), layout().strip(1, 0).center().y());
  const double before = layout().axis().lengthNs();
  wheel(at, 3);
  EXPECT_LT(layout().axis().lengthNs(), before * 0.6);
  EXPECT_NEAR(layout().axis().toX(350e3), at.x(), 0.5);
  trigger("F");
  EXPECT_DOUBLE_EQ(layout().axis().lengthNs(), before);
}

TEST_P(BucketsViewTest, TheMouseOverADotShowsItsFactsAndLeavesNothingBehind) {
  open();
  state_.setIteration(1);
  moveTo(*layout().dot(1, 3, OrderAgainst::kBuckets));
  EXPECT_EQ(view_->controller()->frame().hovered.kind, BucketsHit::Kind::kDot);
  EXPECT_EQ(view_->controller()->frame().hovered.parameter, 3);
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(surface(), &leave);
  EXPECT_FALSE(view_->controller()->frame().pointer.has_value());
}

TEST_P(BucketsViewTest, FollowsALiveRunToTheLastIterationThatAllRanksEnded) {
  trace::RunUpdate all = test::demoRun({.steps = 30});
  all.info->state = trace::RunState::kRunning;
  trace::RunUpdate later;
  const auto begun = [](const trace::SpanRow& span) { return span.step < 20; };
  std::copy_if(all.spans.begin(), all.spans.end(), std::back_inserter(later.spans),
               [&](const auto& span) { return !begun(span); });
  std::erase_if(all.spans, [&](const auto& span) { return !begun(span); });
  open(all);
  state_.setFollowLive(true);
  EXPECT_EQ(story().step, 19u);
  model_.applyUpdate(later);
  EXPECT_TRUE(QTest::qWaitFor([&] { return story().step == 29u; }, 10'000));
}

TEST_P(BucketsViewTest, AReplayOfALiveRunGoesOnThoughOtherIterationsEnd) {
  trace::RunUpdate all = test::demoRun({.steps = 30});
  all.info->state = trace::RunState::kRunning;
  trace::RunUpdate later;
  const auto begun = [](const trace::SpanRow& span) { return span.step < 20; };
  std::copy_if(all.spans.begin(), all.spans.end(), std::back_inserter(later.spans),
               [&](const auto& span) { return !begun(span); });
  std::erase_if(all.spans, [&](const auto& span) { return !begun(span); });
  open(all);
  state_.setFollowLive(true);
  ASSERT_EQ(story().step, 19u);
  view_->setReplayPart(0.5);
  const auto at = view_->controller()->replayNs();
  model_.applyUpdate(later);
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        const auto last = model_.lastStep(0);
        return last && last->step == 29u;
      },
      10'000));
  emit model_.loaded();
  EXPECT_EQ(story().step, 19u);
  EXPECT_EQ(view_->controller()->replayNs(), at);
  trigger("End");
  emit model_.loaded();
  EXPECT_EQ(story().step, 29u);
}

TEST_P(BucketsViewTest, SaysWhatToDoWithoutARun) {
  view_->setRun({});
  QSignalSpy wanted(view_.get(), &BucketsView::demoRequested);
  test::pressTheButtonOf(*view_);
  EXPECT_EQ(wanted.count(), 1);
}

TEST_P(BucketsViewTest, TellsAScreenReaderWhatThereIsToSee) {
  open();
  state_.setIteration(1);
  const QString text = view_->canvas()->accessibleDescription();
  EXPECT_TRUE(text.contains(QStringLiteral("3 buckets of 400 B, rebuilt."))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("Bucket 1 stalled 102 µs behind bucket 0 on rank 1.")))
      << text.toStdString();
}

TEST_P(BucketsViewTest, OutlivesItsRun) {
  auto model = std::make_unique<RunModel>();
  model->applyUpdate(test::BucketRun().update);
  view_->setRun({model.get(), &state_, nullptr});
  settle();
  model.reset();
  EXPECT_FALSE(view_->controller()->ready());
}

INSTANTIATE_TEST_SUITE_P(Painters, BucketsViewTest, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui
