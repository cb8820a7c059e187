#pragma once

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

class TimeMarks;

/// The ruler on top: iterations above, times below.
class RulerLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

 private:
  void drawNumbers(DisplayList& list, const TimeMarks& marks) const;
  void drawBoxes(DisplayList& list, const TimeMarks& marks) const;
  void drawTimes(DisplayList& list, const TimeMarks& marks) const;
};

}  // namespace lockstep::ui
