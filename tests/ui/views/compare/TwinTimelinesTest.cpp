#include "engine/trace/Event.h"
#include "ui/views/compare/TwinTimelines.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QSpinBox>
#include <QTest>
#include <QWheelEvent>

#include "tests/ui/views/compare/AnalysedDemo.h"

namespace lockstep::ui {
namespace {

class TwinTimelinesTest : public testing::Test {
 protected:
  void SetUp() override {
    view_.resize(1000, 600);
    view_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&view_));
    view_.showRuns(&a_.model, 20, &b_.model, 1, 30);
  }

  void wheel(TwinPane* pane, int notches) {
    QWidget* surface = pane->canvas()->childAt(pane->canvas()->rect().center());
    const QPointF at(500, 100);
    QWheelEvent event(at, surface->mapToGlobal(at), QPoint(), QPoint(0, 120 * notches),
                      Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(surface, &event);
  }

  void expectAligned() {
    const TimeRange a = view_.paneA()->relativeRange();
    const TimeRange b = view_.paneB()->relativeRange();
    EXPECT_NEAR(a.startNs, b.startNs, 1);
    EXPECT_NEAR(a.endNs, b.endNs, 1);
  }

  test::AnalysedDemo a_;
  test::AnalysedDemo b_{test::slower(), "slow"};
  TwinTimelines view_;
};

TEST_F(TwinTimelinesTest, BothBeginAtTheirIterationAndShowAsMuchTime) {
  expectAligned();
  const StepSpan stepA = *a_.model.stepOfAll(20);
  const StepSpan stepB = *b_.model.stepOfAll(30);
  const double longest = std::max(stepA.endNs - stepA.startNs, stepB.endNs - stepB.startNs);
  EXPECT_NEAR(view_.paneA()->relativeRange().endNs, longest * 1.05, 1);
  EXPECT_LT(view_.paneA()->relativeRange().startNs, 0);
  EXPECT_EQ(view_.iterationBoxA()->value(), 20);
  EXPECT_EQ(view_.iterationBoxB()->value(), 30);
}

TEST_F(TwinTimelinesTest, ZoomingOneZoomsTheOther) {
  const double before = view_.paneB()->relativeRange().lengthNs();
  wheel(view_.paneA(), 3);
  EXPECT_LT(view_.paneB()->relativeRange().lengthNs(), before * 0.9);
  expectAligned();
  wheel(view_.paneB(), -1);
  expectAligned();
}

TEST_F(TwinTimelinesTest, AnotherIterationKeepsTheStretchThatIsShown) {
  wheel(view_.paneA(), 3);
  const TimeRange before = view_.paneA()->relativeRange();
  view_.iterationBoxB()->setValue(31);
  EXPECT_EQ(view_.paneB()->iteration(), 31u);
  EXPECT_NEAR(view_.paneB()->relativeRange().startNs, before.startNs, 1);
  expectAligned();
}

TEST_F(TwinTimelinesTest, GoingToABucketSelectsItsCommunicationInBoth) {
  view_.goTo(12, 0, 14, 1, 1);
  const auto& a = view_.paneA()->state().selection();
  const auto& b = view_.paneB()->state().selection();
  ASSERT_TRUE(a.has_value());
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(a->kind, trace::EventKind::kCollective);
  EXPECT_EQ(a->bucket, 1);
  EXPECT_EQ(a->step, 12u);
  EXPECT_EQ(a->rank(), 0);
  EXPECT_EQ(b->bucket, 1);
  EXPECT_EQ(b->step, 14u);
  EXPECT_EQ(b->rank(), 1);
}

TEST_F(TwinTimelinesTest, WhatIsSelectedInOneIsSelectedInTheOther) {
  const auto span = view_.paneA()->selectBucket(1, 0);
  ASSERT_TRUE(span.has_value());
  EXPECT_FALSE(view_.paneB()->state().selection().has_value()) << "only the user's are followed";
  view_.paneA()->state().clearSelection();
  view_.paneA()->state().select(span);
  const auto& other = view_.paneB()->state().selection();
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->lane, span->lane);
  EXPECT_EQ(other->kind, span->kind);
  EXPECT_EQ(other->bucket, span->bucket);
  EXPECT_EQ(other->step, 30u);
}

TEST_F(TwinTimelinesTest, AnIterationThatARunDoesNotHaveIsNotShown) {
  EXPECT_FALSE(view_.paneA()->setIteration(4'000));
  EXPECT_EQ(view_.paneA()->iteration(), 20u);
  view_.showRuns(nullptr, 0, nullptr, 1, 0);
  EXPECT_FALSE(view_.paneA()->iteration().has_value());
  EXPECT_FALSE(view_.iterationBoxA()->isEnabled());
}

}  // namespace
}  // namespace lockstep::ui
