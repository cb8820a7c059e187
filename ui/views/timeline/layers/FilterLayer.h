#pragma once

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// The stretch that statistics are about: all that they leave out is pale.
class FilterLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;
};

}  // namespace lockstep::ui
