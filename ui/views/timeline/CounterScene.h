#pragma once

#include <QColor>
#include <QRectF>
#include <QString>
#include <string>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/canvas/TimeAxis.h"
#include "ui/model/CounterFacts.h"
#include "ui/model/Fact.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

// How counters look in the timeline. A lane of a counter is a plot of steps: where values stand
// closer than pixels, from the smallest to the largest of each column. All [ui-thread].

/// Columns of pixels, side by side, in which a counter has the same extremes.
struct CounterColumns {
  double left = 0;
  double right = 0;
  double minimum = 0;
  double maximum = 0;
};

/// The columns of `axis` over which a counter has values, from left to right: from its first to
/// its last value. The cost grows with the columns and the logarithm of the values.
std::vector<CounterColumns> counterColumns(const RunModel& model, const CounterSeries& series,
                                           bool overInterval, const TimeAxis& axis);

/// The value that counts at a time; series.size() before the first and after the last.
std::size_t counterValueAt(const RunModel& model, const CounterSeries& series, bool overInterval,
                           double ns);

/// The time for which a value counts: from its own to the next, or from the one before to its own.
TimeRange timeOfValue(const RunModel& model, const CounterSeries& series, bool overInterval,
                      std::size_t index);

/// One counter of one rank, where it is drawn.
class CounterLane {
 public:
  /// `series` is of the model; the scale is that of all ranks and the whole run.
  CounterLane(const RunModel& model, const std::string& name, int rank, const CounterSeries& series,
              const QRectF& plot);

  void draw(DisplayList& list, const TimeAxis& axis, const Palette& palette) const;
  /// Name, unit and the ends of the value axis.
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
