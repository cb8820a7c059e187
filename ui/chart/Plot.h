#pragma once

#include <QRectF>
#include <QString>
#include <cstdint>
#include <functional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/Ticks.h"

namespace lockstep::ui {

// The parts of a plot, in logical pixels. All [ui-thread].

/// Draws the ground of a plot, with a line along its lower edge.
void drawPlotGround(DisplayList& list, const QRectF& plot, const Palette& palette);

/// Draws a curve, or a dot where it has a single point.
void drawCurve(DisplayList& list, const std::vector<QPointF>& points, const QColor& colour);

/// Writes the round values of a scale along the lower edge of a plot, about `apart` pixels from
/// each other, with a mark at each, or with `grid` a line through the plot. `label` is given a
/// value and the step between two.
void drawAxisBelow(DisplayList& list, const QRectF& plot, const Scale& scale, double apart,
                   const std::function<QString(double value, double step)>& label,
                   const Palette& palette, bool grid = false);

/// Writes the round values of a scale that rises up the left side of a plot, from `left` on, each
/// with a line through the plot. Returns the step between two.
double drawAxisBeside(DisplayList& list, const QRectF& plot, const Scale& scale, double left,
                      const std::function<QString(double value, double step)>& label,
                      const Palette& palette);

/// Draws where a curve may lie: between `low` and `high`, point by point at the same x.
void drawBand(DisplayList& list, const std::vector<QPointF>& low, const std::vector<QPointF>& high,
              const QColor& colour);

/// Draws the interval of a single value of a curve, from one end to the other.
void drawErrorBar(DisplayList& list, QPointF low, QPointF high, const QColor& colour);

/// A curve of a rank that has no finite number from an iteration on.
struct LostCurve {
  int rank = 0;
  std::uint32_t iteration = 0;
};

/// Marks the earliest of these iterations, where it lies in the plot, by a line in the colour of
/// errors and a plate that says whose curves were lost there. `xOf` gives the x of an iteration.
void drawFirstLost(DisplayList& list, const QRectF& plot, const std::vector<LostCurve>& lost,
                   const std::function<double(double iteration)>& xOf, const Palette& palette);

}  // namespace lockstep::ui
