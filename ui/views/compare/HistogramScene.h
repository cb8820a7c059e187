#pragma once

#include <QPointF>
#include <QSizeF>
#include <QString>
#include <optional>
#include <vector>

#include "engine/analysis/Durations.h"
#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// One run of an overlaid histogram; `durations` outlives the drawing.
struct HistogramRun {
  QString name;  ///< "A  allreduce"
  const analysis::Durations* durations = nullptr;
};

/// One frame of overlaid histograms of durations.
struct HistogramFrame {
  QSizeF size;
  std::vector<HistogramRun> runs;
  std::optional<QPointF> pointer;  ///< tells the counts of the bin under it
};

/// Draws the runs' durations over one axis: bars as shares of each run's count, so that runs of
/// different length can be compared, the first filled, the others hatched with an outline; P50 as
/// a line, P90 as a dashed one. What is longer than the longest P99 is counted at the right.
void drawHistogram(DisplayList& list, const HistogramFrame& frame, const Palette& palette);

}  // namespace lockstep::ui
