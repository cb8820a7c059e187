#pragma once

#include <QLabel>
#include <QLineEdit>
#include <cmath>

#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/views/timeline/TimelineOverview.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::tests {

// The timeline in the window, by pointer and keyboard.
class TimelineXFixture : public ViewsFixture {
 protected:
  void openAtStep20(const ui::test::DemoOptions& options = {}) {
    openDemo(options);
    showStage("timeline");
    ASSERT_TRUE(window().session()->showStep(20));
    ASSERT_TRUE(waitUntil([this] { return state().iteration() == 20U; }));
    // A frame with all lanes may bring the scroll bar, and only the next has the width beside it.
    for (int frame = 0; frame < 2; ++frame) {
      bool painted = false;
      const auto connection = QObject::connect(&timeline(), &ui::TimelineView::framePainted,
                                               [&painted] { painted = true; });
      timeline().canvas()->repaintSoon();
      EXPECT_TRUE(waitUntil([&painted] { return painted; }));
      QObject::disconnect(connection);
    }
  }
  ui::TimelineView& timeline() { return view<ui::TimelineView>(); }
  const ui::Canvas* canvas() { return timeline().canvas(); }
  Place on(const ui::Span& span) {
    return [this, span] { return timeline().positionOf(span); };
  }
  void clickOn(const ui::Span& span) { clickAt(&timeline(), on(span)); }
  // A place in the lanes of rank 0, where nothing need be.
  Place inLanes(double part) {
    return [this, part] {
      return std::optional(QPointF(timeline().axis().left() + part * timeline().axis().width(),
                                   canvas()->height() * 0.4));
    };
  }
  Place overviewAt(double ns) {
    return [this, ns] {
      const auto* strip = timeline().overview();
      return std::optional(QPointF(strip->axis().toX(ns), strip->canvas()->height() / 2.0));
    };
  }
  bool frameSays(const QString& part) {
    ui::DisplayList list;
    timeline().drawInto(list);
    return says(list, part);
  }
  bool rangeIs(const ui::TimeRange& wanted) {
    return std::abs(state().range().startNs - wanted.startNs) < 1 &&
           std::abs(state().range().endNs - wanted.endNs) < 1;
  }
  QString status() { return find<QLabel>("timelineStatus")->text(); }
  // The one that is shown: others may still wait for their deletion.
  QLineEdit* noteLine() {
    for (auto* line : timeline().findChildren<QLineEdit*>("noteText")) {
      if (line->isVisible() && line->hasFocus()) return line;
    }
    return nullptr;
  }
};

}  // namespace lockstep::tests
