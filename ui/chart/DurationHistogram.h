#pragma once

#include <QColor>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <optional>
#include <vector>

#include "engine/analysis/Durations.h"
#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// One run of an overlaid histogram; `durations` outlives the drawing.
struct HistogramRun {
  QString name;  ///< "A  allreduce"; empty where there is one run
  const analysis::Durations* durations = nullptr;
  QColor colour;
};

/// What was forecast of the durations, with its interval.
struct HistogramForecast {
  double ms = 0;
  double lowMs = 0;
  double highMs = 0;

  bool operator==(const HistogramForecast&) const = default;
};

/// One frame of overlaid histograms of durations.
struct HistogramFrame {
  QRectF rect;
  std::vector<HistogramRun> runs;
  std::optional<HistogramForecast> forecast;  ///< of the first run
  QString none;                               ///< a sentence for when no run has a value
  std::optional<QPointF> pointer;             ///< tells the counts of the bin under it
};

/// Draws the runs' durations over one axis: bars as shares of each run's count, so that runs of
/// different length can be compared, the first filled, the others hatched with an outline; P50 as
/// a line, P90 and P99 as dashed ones, named with their values where there is room; in words above
/// the plot these and what is longer than the axis, which ends at the longest P99; a forecast as a
/// line in its interval. [ui-thread]
void drawHistogram(DisplayList& list, const HistogramFrame& frame, const Palette& palette);

}  // namespace lockstep::ui
