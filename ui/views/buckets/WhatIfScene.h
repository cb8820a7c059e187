#pragma once

#include <QRectF>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/buckets/WhatIf.h"

namespace lockstep::ui {

/// The height that the strips of buckets take, in logical pixels.
double whatIfHeight(const WhatIf& told);

/// Draws the buckets of an iteration over time, one strip as measured and one as forecast: pale
/// from launch to begin, solid while in flight; a line where the last gradient was ready.
/// [ui-thread]
void drawWhatIf(DisplayList& list, const QRectF& area, const WhatIf& told, const Palette& palette);

}  // namespace lockstep::ui
