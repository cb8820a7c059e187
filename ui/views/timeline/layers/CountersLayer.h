#pragma once

#include <optional>

#include "ui/views/timeline/CounterScene.h"
#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// The plots of counters under the lanes of each rank, with their names and scales at the left.
class CountersLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;
  /// What the counter at a point says, beside it.
  void drawCard(DisplayList& list, QPointF pointer) const;

  /// The counter whose plot or name is at a point.
  static std::optional<TimelineLayout::CounterHit> counterAt(const TimelineSight& sight,
                                                             QPointF position);

 private:
  [[nodiscard]] std::optional<CounterLane> laneOf(int rank,
                                                  const TimelineLayout::CounterBox& box) const;
};

}  // namespace lockstep::ui
