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

/// How the values of many ranks lie: at each place, whose x rise, the least and the most of them,
/// and what a quarter, half and three quarters of them do not exceed.
struct RankBand {
  struct Place {
    double x = 0;
    double least = 0;
    double quarter = 0;
    double half = 0;
    double threeQuarters = 0;
    double most = 0;
  };
  std::vector<Place> places;  ///< none: there are so few ranks that each has a curve
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

/// Draws the curves of all ranks with axes, and under the pointer their values; of many ranks how
/// all of them lie, behind the curves of some.
void drawLineChart(DisplayList& list, const QRectF& rect, const ChartText& text,
                   const std::vector<RankCurve>& curves, const Palette& palette,
                   std::optional<QPointF> pointer, const RankBand& band = {});

}  // namespace lockstep::ui
