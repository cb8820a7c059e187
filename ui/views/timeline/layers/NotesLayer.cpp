#include "ui/views/timeline/layers/NotesLayer.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plate.h"

namespace lockstep::ui {

using namespace timeline_metrics;

QRectF flagRect(const Mark& mark, const TimeAxis& axis) {
  constexpr double kWidest = 150;
  constexpr double kFlag = 11;
  const double x = std::round(axis.toX(mark.ns));
  if (mark.kind == Mark::Kind::kBookmark) {
    return {x, kIterationHeight + 1, kFlag, kFlag + 3};
  }
  const double width = std::min(textWidth(mark.text.simplified(), FontRole::kSmall) + 10, kWidest);
  return {x, kIterationHeight + 1, width, 16};
}

void NotesLayer::draw(DisplayList& list) const {
  if (frame_.notes == nullptr) {
    return;
  }
  list.clip(QRectF(axis_.left(), 0, axis_.width(), frame_.size.height()));
  for (const Mark& mark : frame_.notes->marks()) {
    const QRectF flag = flagRect(mark, axis_);
    if (flag.left() > axis_.right() || flag.right() < axis_.left()) {
      continue;
    }
    const bool note = mark.kind == Mark::Kind::kNote;
    const QColor colour = note ? palette_.measure : palette_.accent;
    list.fill(QRectF(flag.left(), flag.top(), 1, frame_.size.height() - flag.top()),
              withAlpha(colour, 0.55f));
    if (note) {
      drawPlate(list, flag, mark.text.simplified(), colour);
    } else {
      list.polygon({flag.topLeft(), {flag.right(), flag.center().y()}, flag.bottomLeft()}, colour);
    }
  }
  list.unclip();
}

std::optional<Mark> NotesLayer::markAt(const TimelineSight& sight, QPointF position) {
  if (sight.frame.notes == nullptr || position.y() > kRulerHeight ||
      position.x() < sight.axis.left()) {
    return std::nullopt;
  }
  // What is drawn last lies on top.
  const std::vector<Mark>& marks = sight.frame.notes->marks();
  const auto hit = std::find_if(marks.rbegin(), marks.rend(), [&](const Mark& mark) {
    return flagRect(mark, sight.axis).adjusted(-3, -2, 3, 2).contains(position);
  });
  return hit == marks.rend() ? std::nullopt : std::optional(*hit);
}

}  // namespace lockstep::ui
