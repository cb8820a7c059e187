#pragma once

#include <QColor>
#include <QRectF>
#include <string>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/TimeAxis.h"
#include "ui/model/CounterFacts.h"
#include "ui/model/Fact.h"
#include "ui/model/RunModel.h"
#include "ui/views/timeline/CounterValues.h"

namespace lockstep::ui {

// How counters look in the timeline. A lane of a counter is a plot of steps: where values stand
// closer than pixels, from the smallest to the largest of each column. All [ui-thread].

/// One counter of one rank, where it is drawn.
class CounterLane {
 public:
  /// `series` is of the model; the scale is that of all ranks and the whole run.
  CounterLane(const RunModel& model, const std::string& name, int rank, const CounterSeries& series,
              const QRectF& plot);

  void draw(DisplayList& list, const TimeAxis& axis, const Palette& palette) const;
  /// The name and, where the plot is high enough, the ends of the value axis.
  void drawLabel(DisplayList& list, const QRectF& place, const Palette& palette) const;
  /// What the counter says at a time: its mark on the plot, and a card beside the pointer.
  void drawHover(DisplayList& list, const TimeAxis& axis, const Palette& palette, QSizeF size,
                 QPointF pointer) const;

  [[nodiscard]] const CounterScale& scale() const { return scale_; }
  [[nodiscard]] double toY(double value) const;

 private:
  void drawPeak(DisplayList& list, const TimeAxis& axis, const Palette& palette) const;
  [[nodiscard]] QColor colour(const Palette& palette) const;
  [[nodiscard]] std::vector<Fact> factsAt(std::size_t index, const TimeAxis& axis, double x) const;

  const RunModel& model_;
  const std::string name_;
  const int rank_;
  const CounterSeries& series_;
  const CounterFacts facts_;
  const CounterScale scale_;
  const QRectF plot_;
};

}  // namespace lockstep::ui
