#include "ui/views/timeline/TimelineSight.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/views/timeline/SpanStyle.h"

namespace lockstep::ui {

using namespace timeline_metrics;

namespace {

// Of a low window World takes no more than this part: else there would be no room for lanes.
constexpr double kWorldAtMost = 0.35;

double keptOf(const TimelineLayout::WorldBox& world, const TimelineFrame& frame) {
  const bool fits = world.height <= (frame.size.height() - kRulerHeight) * kWorldAtMost;
  return frame.keepsHeads && fits && !world.rows.empty() ? world.height : 0;
}

// The rank that lies under the edge below which things are scrolled.
const TimelineLayout::RankBox* cutOff(const TimelineLayout& layout, const TimelineFrame& frame,
                                      double worldKept) {
  const double edge = frame.scrollY + worldKept;
  const auto ranks = frame.keepsHeads ? layout.ranksWithin(edge, edge + 1)
                                      : std::span<const TimelineLayout::RankBox>();
  return !ranks.empty() && ranks.front().top < edge ? &ranks.front() : nullptr;
}

}  // namespace

// Note [What stays in sight]
//
//   ruler                        always
//   World                        where it is low enough (kWorldAtMost)
//   header of a rank             of the one whose lanes begin above; its last lanes push it out
//   ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈
//   what is scrolled             lanesArea()
//
// World lies at the top of the layout, so a height in it is where it would be without scrolling:
// yOf and layoutY tell by the height alone which of both a place is.
TimelineSight::TimelineSight(const RunModel& model, const TimelineLayout& layout,
                             TimelineFrame frame)
    : model(model),
      layout(layout),
      frame(std::move(frame)),
      axis(axisFor(this->frame.size.width(), this->frame.range)),
      worldKept(keptOf(layout.world(), this->frame)),
      headKept(cutOff(layout, this->frame, worldKept)),
      headTop(headKept == nullptr ? 0
                                  : std::min(kRulerHeight + worldKept,
                                             yOf(headKept->top + headKept->height) - kRankHeader)) {
}

TimeAxis TimelineSight::axisFor(double width, TimeRange range) {
  return {range.startNs, range.endNs, kLabelWidth, width - kLabelWidth};
}

double TimelineSight::yOf(double layoutY) const {
  return std::round(kRulerHeight + layoutY - (layoutY < worldKept ? 0 : frame.scrollY));
}

double TimelineSight::layoutY(QPointF position) const {
  const double below = position.y() - kRulerHeight;
  if (below < worldKept) {
    return below;
  }
  const bool onHead = headKept != nullptr && position.y() < headTop + kRankHeader;
  return onHead ? headKept->top + std::max(0.0, position.y() - headTop) : below + frame.scrollY;
}

QRectF TimelineSight::belowRuler() const {
  return {0, kRulerHeight, frame.size.width(), frame.size.height() - kRulerHeight};
}

QRectF TimelineSight::timesArea() const {
  return belowRuler().adjusted(kLabelWidth, 0, 0, 0);
}

QRectF TimelineSight::scrolled() const {
  QRectF area = belowRuler();
  area.setTop(std::max(kRulerHeight + worldKept, headKept == nullptr ? 0 : headTop + kRankHeader));
  return area;
}

QRectF TimelineSight::lanesArea() const {
  return scrolled().adjusted(kLabelWidth, 0, 0, 0);
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
