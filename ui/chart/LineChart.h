#pragma once

#include <QPointF>
#include <QRectF>
#include <QString>
#include <optional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// A curve of one rank; x rises.
struct RankCurve {
  int rank = 0;
  std::vector<QPointF> points;
  std::optional<double> lostAt;  ///< x, an iteration, of the first value that was no finite number
  double lostUntil = 0;          ///< x of the last value, where one was lost
};

/// What a chart says about itself.
struct ChartText {
  QString title;
  QString unit;   ///< of y, after the title
  QString x;      ///< "iteration", "s"
  QString empty;  ///< a sentence for when there is no curve
  bool fromZero = false;
};

/// Draws evenly spaced values without axes, as in a tile; values that are NaN leave a gap.
void drawSparkline(DisplayList& list, const QRectF& rect, const std::vector<double>& values,
                   const QColor& colour);

/// Draws the curves of all ranks with axes, and under the pointer their values.
void drawLineChart(DisplayList& list, const QRectF& rect, const ChartText& text,
                   const std::vector<RankCurve>& curves, const Palette& palette,
                   std::optional<QPointF> pointer);

}  // namespace lockstep::ui
