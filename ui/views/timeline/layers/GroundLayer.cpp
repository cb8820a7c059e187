#include "ui/views/timeline/layers/GroundLayer.h"

#include <algorithm>
#include <cmath>

#include "ui/views/timeline/layers/TimeMarks.h"

namespace lockstep::ui {

using namespace timeline_metrics;

void GroundLayer::draw(DisplayList& list) const {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  list.clip(sight_.scrolled());
  for (const auto& rank : sight_.ranksInSight()) {
    drawBands(list, rank);
  }
  list.unclip();
  list.clip(sight_.belowRuler());
  drawGrid(list);
  list.unclip();
}

void GroundLayer::drawBands(DisplayList& list, const TimelineLayout::RankBox& rank) const {
  bool shaded = false;
  for (const auto& lane : rank.lanes) {
    if (sight_.inSight(lane.top, lane.height)) {
      list.fill(QRectF(kLabelWidth, sight_.yOf(lane.top), axis_.width(), lane.height),
                shaded ? palette_.lane : palette_.background);
    }
    // For lanes out of sight too: else the bands would change places while one scrolls.
    shaded = !shaded;
  }
  for (const auto& box : rank.counters) {
    if (sight_.inSight(box.top, box.height)) {
      list.fill(QRectF(0, sight_.yOf(box.top), frame_.size.width(), 1), palette_.grid);
    }
  }
}

void GroundLayer::drawGrid(DisplayList& list) const {
  const QRectF area = sight_.timesArea();
  // Down to the end of the last rank: below it nothing has a time.
  const double bottom = std::min(area.bottom(), sight_.yOf(layout_.height() - kRankGap));
  const TimeMarks marks(sight_);
  for (const TimeAxis::Tick& tick : marks.ticks()) {
    if (tick.major) {
      list.fill(QRectF(std::round(tick.x), area.top(), 1, bottom - area.top()), palette_.grid);
    }
  }
  for (const StepSpan& step : marks.iterations()) {
    const double x = std::round(axis_.toX(step.startNs));
    if (x >= area.left()) {
      list.fill(QRectF(x, area.top(), 1, bottom - area.top()), palette_.gridStrong);
    }
  }
}

}  // namespace lockstep::ui
