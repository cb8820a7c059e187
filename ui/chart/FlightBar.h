#pragma once

#include <QRectF>
#include <cstdint>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/Legend.h"

namespace lockstep::ui {

// Note [A collective in flight]
// What a collective does is drawn alike in every view: hatched while ranks are waited for, full
// while data moves, over a modelled link, too. Where the rank did not compute meanwhile, a line
// along the bar's edge says that it is exposed.
//
//   came      last rank came          end
//   ├┈┈┈┈┈┈┈┈┈┼███████████████████████┤
//                          ▁▁▁▁▁▁▁▁▁▁▁  nothing was computed any more

/// What goes on in a collective.
enum class FlightPart : std::uint8_t {
  kWaiting,    ///< a rank has not come yet
  kTransfer,   ///< data moves
  kUndivided,  ///< either of them
};

/// What fills a part. `colour`: of the bar, where it is told by more than that it is in flight.
Swatch swatchOf(FlightPart part, const Palette& palette);
Swatch swatchOf(FlightPart part, const QColor& colour, const Palette& palette);

/// A bar of a collective, cut where its last rank came.
struct FlightBar {
  QRectF waiting;
  QRectF transfer;
  QColor pale;  ///< the ground of the hatch
};

/// Draws the bar and returns where its parts are. `torn`: a rank has no record of it.
FlightBar drawFlightBar(DisplayList& list, const QRectF& body, double arrivedX, bool torn,
                        const QColor& fill, const Palette& palette);

/// Marks a part that is exposed, along the edge that lies at Qt::BottomEdge or Qt::LeftEdge.
void markExposed(DisplayList& list, const QRectF& part, Qt::Edge edge, const Palette& palette);
/// How the mark stands in a legend.
LegendEntry exposedEntry(const Palette& palette);

}  // namespace lockstep::ui
