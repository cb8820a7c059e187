#include "ui/views/timeline/TimelineSight.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/views/timeline/SpanStyle.h"

namespace lockstep::ui {

using namespace timeline_metrics;

TimelineSight::TimelineSight(const RunModel& model, const TimelineLayout& layout,
                             TimelineFrame frame)
    : model(model),
      layout(layout),
      frame(std::move(frame)),
      axis(axisFor(this->frame.size.width(), this->frame.range)) {}

TimeAxis TimelineSight::axisFor(double width, TimeRange range) {
  return {range.startNs, range.endNs, kLabelWidth, width - kLabelWidth};
}

double TimelineSight::yOf(double layoutY) const {
  return std::round(kRulerHeight + layoutY - frame.scrollY);
}

double TimelineSight::layoutY(QPointF position) const {
  return position.y() - kRulerHeight + frame.scrollY;
}

QRectF TimelineSight::belowRuler() const {
  return {0, kRulerHeight, frame.size.width(), frame.size.height() - kRulerHeight};
}

QRectF TimelineSight::lanesArea() const {
  return belowRuler().adjusted(kLabelWidth, 0, 0, 0);
}

bool TimelineSight::inSight(double layoutTop, double height) const {
  const double top = yOf(layoutTop);
  return top < frame.size.height() && top + height > kRulerHeight;
}

QRectF TimelineSight::barRect(double leftX, double rightX, const TimelineLayout::Row& row) const {
  // Cut off just beyond what is seen: zoomed in, a bar may be millions of pixels long, more than
  // the floats of a GL canvas can tell apart.
  const double left = std::clamp(leftX, axis.left() - kOutside, axis.right() + kOutside);
  const double right = std::clamp(rightX, axis.left() - kOutside, axis.right() + kOutside);
  return {left, yOf(row.top), std::max(right - left, 1.0), row.height};
}

std::optional<TimelineLayout::Row> TimelineSight::rowOf(const Span& span) const {
  if (const auto row = layout.find(span.lane, span.row)) {
    return row;
  }
  const RankLines& lines = layout.lines();
  const auto line = lines.lineOf(span.rank());
  return line && layout.boxOf(span.rank()) == nullptr
             ? std::optional(TimelineLayout::Row{span.row, lines.topOf(*line), lines.lineHeight()})
             : std::nullopt;
}

std::optional<QRectF> TimelineSight::rectOf(const Span& span) const {
  const auto row = rowOf(span);
  if (!row || span.endNs() < axis.startNs() || span.startNs > axis.endNs()) {
    return std::nullopt;
  }
  const double left = axis.toX(span.startNs);
  return isInstant(span) ? barRect(left - 3, left + 4, *row)
                         : barRect(left, axis.toX(span.endNs()), *row);
}

QRectF TimelineSight::bandOf(TimeRange range) const {
  const double left = std::clamp(axis.toX(range.startNs), axis.left(), axis.right());
  const double right = std::clamp(axis.toX(range.endNs), axis.left(), axis.right());
  return {left, kRulerHeight, right - left, frame.size.height() - kRulerHeight};
}

double TimelineSight::labelLeft(double x, double width) const {
  return std::clamp(x, axis.left(), std::max(axis.left(), axis.right() - width));
}

}  // namespace lockstep::ui
