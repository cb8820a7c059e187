#pragma once

#include <QRectF>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/whatif/WhatIf.h"

namespace lockstep::ui {

/// The height that the strips of buckets take, in logical pixels.
double whatIfHeight(const WhatIf& told);

/// Draws an iteration over time, as measured and under it as forecast: its buckets, pale from
/// launch to begin, solid while in flight; what the rank that is spoken of computes, a line where
/// its last gradient was ready, a mark where its iteration ends, and where that is expected.
/// [ui-thread]
void drawWhatIf(DisplayList& list, const QRectF& area, const WhatIf& told, const Palette& palette);

}  // namespace lockstep::ui
