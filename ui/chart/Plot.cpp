#include "ui/chart/Plot.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

/// On the side of the line that has room for it; where none has, over the line.
void drawErrorMark(DisplayList& list, const QRectF& plot, double x, const QString& text,
                   const Palette& palette) {
  const double line = std::round(x);
  list.fill(QRectF(line, plot.top(), 1.5, plot.height()), palette.error);
  const double width = textWidth(text, FontRole::kSmall) + 10;
  const bool right = line + width < plot.right();
  const double left = std::clamp(right ? line + 2 : line - width - 2, plot.left(),
                                 std::max(plot.left(), plot.right() - width));
  const QRectF plate(left, plot.top() + 2, std::min(width, plot.width()), 16);
  drawPlate(list, plate, text, palette.error);
}

}  // namespace

void drawPlotGround(DisplayList& list, const QRectF& plot, const Palette& palette) {
  list.fill(plot, palette.lane);
  list.fill(QRectF(plot.left(), plot.bottom(), plot.width(), 1), palette.gridStrong);
}

void drawCurve(DisplayList& list, const std::vector<QPointF>& points, const QColor& colour) {
  if (points.size() == 1) {
    list.fill(QRectF(points.front() - QPointF(2, 2), QSizeF(4, 4)), colour, 2);
  } else if (!points.empty()) {
    list.polyline(points, colour, 1.6);
  }
}

void drawAxisBelow(DisplayList& list, const QRectF& plot, const Scale& scale, double apart,
                   const std::function<QString(double, double)>& label, const Palette& palette,
                   bool grid) {
  constexpr double kMark = 4;
  const double step =
      roundStep(scale.to - scale.from, std::max(2, static_cast<int>(plot.width() / apart)));
  for (const double value : scale.ticks(step)) {
    const double x = scale.at(value);
    const double top = grid ? plot.top() : plot.bottom();
    list.fill(QRectF(std::round(x), top, 1, plot.bottom() + kMark - top),
              grid && value != 0 ? palette.grid : palette.gridStrong);
    const QString text = label(value, step);
    const double width = textWidth(text, FontRole::kSmall) + 2;
    // The first and the last one stay below the plot: beside it stands what is counted.
    const double left =
        std::clamp(x - width / 2, plot.left(), std::max(plot.left(), plot.right() + 6 - width));
    list.note(QRectF(left, plot.bottom() + kMark, width, 16), text, palette);
  }
}

double drawAxisBeside(DisplayList& list, const QRectF& plot, const Scale& scale, double left,
                      const std::function<QString(double, double)>& label,
                      const Palette& palette) {
  constexpr double kApart = 34;
  constexpr double kGap = 6;
  const double step = roundStep(scale.to - scale.from, static_cast<int>(plot.height() / kApart));
  for (const double value : scale.ticks(step)) {
    const double y = scale.at(value);
    list.fill(QRectF(plot.left(), std::round(y), plot.width(), 1), palette.grid);
    list.note(QRectF(left, y - 8, plot.left() - left - kGap, 16), label(value, step), palette,
              kToTheRight);
  }
  return step;
}

void drawBand(DisplayList& list, const std::vector<QPointF>& low, const std::vector<QPointF>& high,
              const QColor& colour) {
  for (std::size_t i = 1; i < std::min(low.size(), high.size()); ++i) {
    list.polygon({low[i - 1], low[i], high[i], high[i - 1]}, colour);
  }
}

void drawErrorBar(DisplayList& list, QPointF low, QPointF high, const QColor& colour) {
  constexpr double kEnd = 3;
  list.line(low, high, colour);
  for (const QPointF& end : {low, high}) {
    list.line(end - QPointF(kEnd, 0), end + QPointF(kEnd, 0), colour);
  }
}

void drawFirstLost(DisplayList& list, const QRectF& plot, const std::vector<LostCurve>& lost,
                   const std::function<double(double)>& xOf, const Palette& palette) {
  const auto first = std::ranges::min_element(lost, {}, &LostCurve::iteration);
  if (first == lost.end()) {
    return;
  }
  // Several ranks are often lost in the same iteration, as their gradients are averaged: all are
  // named.
  std::vector<int> ranks;
  for (const LostCurve& curve : lost) {
    if (curve.iteration == first->iteration) {
      ranks.push_back(curve.rank);
    }
  }
  if (const double x = xOf(first->iteration); x >= plot.left() && x <= plot.right()) {
    drawErrorMark(list, plot, x,
                  QStringLiteral("no finite number, first in iteration %1, %2")
                      .arg(first->iteration)
                      .arg(formatRanks(ranks)),
                  palette);
  }
}

}  // namespace lockstep::ui
