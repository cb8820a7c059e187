#pragma once

#include <optional>

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// The spans in the lanes of each rank: of what is in sight as much as pixels can show, what was
/// searched for, and where events were lost.
class LanesLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

  /// The span at a point.
  static std::optional<Span> spanAt(const TimelineSight& sight, QPointF position);

 private:
  void drawLane(DisplayList& list, const TimelineLayout::LaneBox& lane) const;
  void drawRow(DisplayList& list, const Lane& lane, const TimelineLayout::Row& row) const;
  void drawMatches(DisplayList& list, const Lane& lane, const TimelineLayout::Row& row) const;
  void drawGaps(DisplayList& list, const TimelineLayout::LaneBox& lane) const;
};

}  // namespace lockstep::ui
