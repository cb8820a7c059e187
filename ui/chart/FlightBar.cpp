#include "ui/chart/FlightBar.h"

namespace lockstep::ui {
namespace {

constexpr double kMark = 2;  // px

QColor exposedColour(const Palette& palette) {
  return palette.tone(Tone::kWait);
}

}  // namespace

Swatch swatchOf(FlightPart part, const QColor& colour, const Palette& palette) {
  return part == FlightPart::kWaiting ? hatched(colour, palette) : Swatch{colour, {}};
}

Swatch swatchOf(FlightPart part, const Palette& palette) {
  const bool undivided = part == FlightPart::kUndivided;
  return swatchOf(part, palette.tone(undivided ? Tone::kUndivided : Tone::kTransfer), palette);
}

FlightBar drawFlightBar(DisplayList& list, const QRectF& body, double arrivedX, bool torn,
                        const QColor& fill, const Palette& palette) {
  constexpr double kRoundedFrom = 8;  // px of width
  const auto radius = [](const QRectF& rect) { return rect.width() > kRoundedFrom ? 2 : 0; };
  const Swatch waiting = swatchOf(FlightPart::kWaiting, fill, palette);
  const FlightBar bar{{body.topLeft(), QPointF(arrivedX, body.bottom())},
                      {QPointF(arrivedX, body.top()), body.bottomRight()},
                      waiting.colour};
  // Where a rank has no record, the last arrival that is known may not be the last: no parts are
  // drawn.
  if (torn) {
    list.fill(body, bar.pale, radius(body));
    list.outline(body, fill, radius(body));
  } else if (bar.waiting.width() < 1) {
    list.fill(body, fill, radius(body));
  } else {
    drawSwatch(list, bar.waiting, waiting, radius(body));
    list.fill(bar.transfer, fill, radius(bar.transfer));
  }
  return bar;
}

void markExposed(DisplayList& list, const QRectF& part, Qt::Edge edge, const Palette& palette) {
  const QRectF mark = edge == Qt::BottomEdge
                          ? QRectF(part.left(), part.bottom() - kMark, part.width(), kMark)
                          : QRectF(part.left(), part.top(), kMark, part.height());
  list.fill(mark, exposedColour(palette));
}

LegendEntry exposedEntry(const Palette& palette) {
  return {{exposedColour(palette), {}, true}, QStringLiteral("exposed")};
}

}  // namespace lockstep::ui
