#include "ui/views/timeline/layers/PointerLayer.h"

#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/Plate.h"
#include "ui/model/SpanFacts.h"
#include "ui/views/timeline/SpanStyle.h"
#include "ui/views/timeline/layers/CountersLayer.h"
#include "ui/views/timeline/layers/RanksLayer.h"
#include "ui/views/timeline/layers/TimeMarks.h"

namespace lockstep::ui {

using namespace timeline_metrics;

void PointerLayer::draw(DisplayList& list) const {
  if (!frame_.pointer) {
    return;
  }
  if (frame_.pointer->x() >= axis_.left() && !frame_.measured) {
    drawTime(list, std::round(frame_.pointer->x()));
  }
  if (frame_.hovered) {
    drawFactCard(list, frame_.size, *frame_.pointer, titleOf(model_, *frame_.hovered),
                 colourOf(*frame_.hovered, frame_.colourBy, palette_),
                 factsOf(model_, *frame_.hovered), palette_);
  } else if (!frame_.measured) {
    // The layers of counters and of headers lie far below; their cards must not.
    CountersLayer(sight_, palette_).drawCard(list, *frame_.pointer);
    RanksLayer(sight_, palette_).drawCard(list, *frame_.pointer);
  }
}

void PointerLayer::drawTime(DisplayList& list, double x) const {
  list.fill(QRectF(x, kRulerHeight, 1, frame_.size.height() - kRulerHeight),
            withAlpha(palette_.textMuted, 0.35f));
  const TimeMarks marks(sight_);
  // One more digit than the labels of the grid.
  const QString text = marks.label(axis_.toNs(x), marks.stepNs() / 100);
  const double width = textWidth(text, FontRole::kSmall) + 10;
  drawPlate(list, QRectF(sight_.labelLeft(x - width / 2, width), kIterationHeight + 1, width, 16),
            text, palette_.textMuted);
}

}  // namespace lockstep::ui
