#pragma once

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QMouseEvent>
#include <QTest>
#include <QWheelEvent>
#include <memory>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/FirstSpan.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::ui {

using trace::EventKind;

/// A timeline in a window of its own, by GL or by raster as the parameter says.
class TimelineViewTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (QString::fromLatin1(GetParam()) == QLatin1String("gl") && !probeGl().usable) {
      GTEST_SKIP() << "no OpenGL here: " << probeGl().device.toStdString();
    }
    qputenv("LOCKSTEP_RENDERER", GetParam());
    view_ = std::make_unique<TimelineView>();
    view_->resize(1200, 800);
    view_->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(view_.get()));
    view_->setFocus();
  }

  void TearDown() override {
    view_.reset();
    qunsetenv("LOCKSTEP_RENDERER");
  }

  void open(const test::DemoOptions& options = {}) {
    model_.applyUpdate(test::demoRun(options));
    view_->setRun({&model_, &state_});
    const auto step = model_.step(0, 20);
    state_.setRange({step->startNs - 1e6, step->endNs + 1e6}, ViewState::RangeChange::kSilent);
    settle();
  }

  // Lets a frame with the latest state be painted; without a run there is none to paint.
  void settle() {
    if (view_->model() == nullptr) {
      QApplication::processEvents();
      return;
    }
    int frames = 0;
    const auto connection =
        QObject::connect(view_.get(), &TimelineView::framePainted, [&] { ++frames; });
    view_->canvas()->repaintSoon();
    EXPECT_TRUE(QTest::qWaitFor([&] { return frames > 0; }));
    QApplication::processEvents();  // a first frame may make the scroll bar come, or go
    QObject::disconnect(connection);
  }

  QWidget* surface() { return view_->canvas()->childAt(view_->canvas()->rect().center()); }

  void wheel(QPointF at, int notches, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWheelEvent event(at, surface()->mapToGlobal(at), QPoint(), QPoint(0, 120 * notches),
                      Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
    QApplication::sendEvent(surface(), &event);
  }

  // Sent to the widget: QTest::mouseMove would move the one pointer of the X server, which
  // tests that run beside this one share.
  void moveTo(QPointF to, Qt::MouseButtons buttons = Qt::NoButton) {
    QMouseEvent event(QEvent::MouseMove, to, surface()->mapToGlobal(to), Qt::NoButton, buttons,
                      Qt::NoModifier);
    QApplication::sendEvent(surface(), &event);
  }

  void trigger(const char* key) {
    const QKeySequence wanted(QString::fromLatin1(key));
    for (QAction* action : view_->viewActions()) {
      if (action->shortcuts().contains(wanted)) {
        action->trigger();
        return;
      }
    }
    FAIL() << "no action has the key " << key;
  }

  Span first(EventKind kind, std::uint32_t step = 20, int rank = 0) {
    return test::firstSpan(model_, kind, step, rank);
  }

  QPoint at(const Span& span) {
    const auto position = view_->positionOf(span);
    EXPECT_TRUE(position.has_value());
    return surface()->mapFrom(view_.get(), position.value_or(QPointF()).toPoint());
  }

  RunModel model_;
  ViewState state_;
  std::unique_ptr<TimelineView> view_;
};

}  // namespace lockstep::ui
