#pragma once

#include <optional>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/timeline/TimelineSight.h"

namespace lockstep::ui {

/// Draws one frame of a timeline into a display list: its layers, one over the other. Holds nothing
/// beyond the frame: the widget and the picture make one, draw, and let it go.
class TimelineScene {
 public:
  TimelineScene(const RunModel& model, const TimelineLayout& layout, const Palette& palette,
                TimelineFrame frame)
      : sight_(model, layout, std::move(frame)), palette_(palette) {}

  void draw(DisplayList& list) const;

  static TimeAxis axisFor(double width, TimeRange range) {
    return TimelineSight::axisFor(width, range);
  }
  /// See TimelineSight.
  [[nodiscard]] std::optional<QRectF> rectOf(const Span& span) const { return sight_.rectOf(span); }

 private:
  const TimelineSight sight_;
  const Palette& palette_;
};

}  // namespace lockstep::ui
