#pragma once

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// The outlines of the span that is selected and of the one under the pointer.
class SelectionLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;
};

}  // namespace lockstep::ui
