#pragma once

#include <optional>

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// The flags of bookmarks and notes in the ruler, each with a line down to the lanes.
class NotesLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

  /// The bookmark or note whose flag is at a point.
  static std::optional<Mark> markAt(const TimelineSight& sight, QPointF position);
};

/// Where the flag of a bookmark or a note stands in the ruler, in coordinates of the frame.
QRectF flagRect(const Mark& mark, const TimeAxis& axis);

}  // namespace lockstep::ui
