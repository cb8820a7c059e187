#pragma once

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// How an iteration would have gone with something changed, under World: its buckets, pale from
/// launch to begin, and the end of the iteration with where that is expected.
class ForecastLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

 private:
  void drawBuckets(DisplayList& list, const ForecastIteration& forecast) const;
  void drawEnd(DisplayList& list, const ForecastIteration& forecast) const;
};

}  // namespace lockstep::ui
