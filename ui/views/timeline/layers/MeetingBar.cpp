#include "ui/views/timeline/layers/MeetingBar.h"

namespace lockstep::ui {

MeetingBar drawMeetingBar(DisplayList& list, const QRectF& body, double arrivedX, bool torn,
                          const QColor& fill, const Palette& palette) {
  constexpr double kRoundedFrom = 8;  // px of width
  const auto radius = [](const QRectF& rect) { return rect.width() > kRoundedFrom ? 2 : 0; };
  const MeetingBar bar{{body.topLeft(), QPointF(arrivedX, body.bottom())},
                       {QPointF(arrivedX, body.top()), body.bottomRight()},
                       mixed(fill, palette.background, 0.3)};
  // Where a rank has no record, the last arrival that is known may not be the last: no parts are
  // drawn.
  if (torn) {
    list.fill(body, bar.pale, radius(body));
    list.outline(body, fill, radius(body));
  } else if (bar.waiting.width() < 1) {
    list.fill(body, fill, radius(body));
  } else {
    list.fill(body, bar.pale, radius(body));
    list.hatch(bar.waiting, mixed(fill, palette.background, 0.75));
    list.fill(bar.transfer, fill, radius(bar.transfer));
  }
  return bar;
}

}  // namespace lockstep::ui
