#pragma once

#include <QColor>
#include <QRectF>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// The two parts of a collective's bar.
struct MeetingBar {
  QRectF waiting;  ///< until the last rank came
  QRectF transfer;
  QColor pale;  ///< the ground of the first
};

/// Draws a collective, of one rank or of all together: first waiting for the last rank (hatched),
/// from `arrivedX` on transfer (solid); pale in an outline where it is `torn`, where a rank has no
/// record and nobody knows. [ui-thread]
MeetingBar drawMeetingBar(DisplayList& list, const QRectF& body, double arrivedX, bool torn,
                          const QColor& fill, const Palette& palette);

}  // namespace lockstep::ui
