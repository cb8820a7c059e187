#pragma once

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// What is shown at the pointer: the time under it, and a card about the span or the counter there.
class PointerLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

 private:
  void drawTime(DisplayList& list, double x) const;
};

}  // namespace lockstep::ui
