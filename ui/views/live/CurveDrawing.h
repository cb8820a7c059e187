#pragma once

#include <QPointF>
#include <QRectF>
#include <QString>
#include <optional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/live/LiveContent.h"

namespace lockstep::ui {

/// What a chart says about itself.
struct ChartText {
  QString title;
  QString unit;   ///< of y, behind the title
  QString x;      ///< "iteration", "s"
  QString empty;  ///< a sentence for when there is no curve
  bool fromZero = false;
};

/// Draws a course in a tile; values that are NaN leave a gap.
void drawSparkline(DisplayList& list, const QRectF& rect, const std::vector<double>& values,
                   const QColor& colour);

/// Draws the curves of all ranks with axes, and under the pointer their values.
void drawChart(DisplayList& list, const QRectF& rect, const ChartText& text,
               const std::vector<LiveCurve>& curves, const Palette& palette,
               std::optional<QPointF> pointer);

}  // namespace lockstep::ui
