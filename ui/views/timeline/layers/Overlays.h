#pragma once

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// The outlines of the span that is selected and of the one under the pointer.
class SelectionLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;
};

/// The stretch that statistics are about: all that they leave out is pale.
class FilterLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;
};

/// The measuring band, with how long it is.
class MeasureLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;
};

}  // namespace lockstep::ui
