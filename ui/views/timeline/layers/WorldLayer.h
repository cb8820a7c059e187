#pragma once

#include <optional>
#include <vector>

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

struct FlightBar;

/// The World lane: the collectives of all ranks together, above those of each.
class WorldLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

  /// The span of the rank that came last to the collective at a point.
  static std::optional<Span> spanAt(const TimelineSight& sight, QPointF position);

 private:
  void drawGroup(DisplayList& list, std::uint8_t group,
                 const std::vector<TimelineLayout::WorldRow>& rows) const;
  /// Something in a row, and what is to stand right of it, the longest form first.
  struct Beside {
    QRectF bar;
    QStringList forms;
  };
  /// Returns what it had no room to say.
  QStringList drawMeeting(DisplayList& list, const Meeting& meeting, const QRectF& bar) const;
  void drawArrivals(DisplayList& list, const Meeting& meeting, const QRectF& body) const;
  /// On the transfer, whose colour is `ground`, or on what waits; returns what is left to be said.
  QStringList drawText(DisplayList& list, const Meeting& meeting, const FlightBar& bar,
                       const QColor& ground) const;
  void drawFold(DisplayList& list, const MeetingTable& table, std::size_t first, std::size_t last,
                const QRectF& rows) const;
};

/// The meeting that a row of the World lane shows at a time, or nearest within `slackNs`.
const Meeting* meetingAt(const RunModel& model, const TimelineLayout::WorldRow& row, double ns,
                         double slackNs);

}  // namespace lockstep::ui
