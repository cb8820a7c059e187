#pragma once

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// What all else lies on: the bands of lanes and counters, and the grid of times and iterations.
class GroundLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

 private:
  void drawBands(DisplayList& list, const TimelineLayout::RankBox& rank) const;
  void drawGrid(DisplayList& list) const;
};

}  // namespace lockstep::ui
