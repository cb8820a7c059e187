#pragma once

#include <QPointF>
#include <QSizeF>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/buckets/BucketFacts.h"

namespace lockstep::ui {

/// Draws a tooltip beside the pointer, on whichever side there is room, long values in several
/// lines. [ui-thread]
void drawFactCard(DisplayList& list, const FactCard& card, const Palette& palette, QPointF pointer,
                  QSizeF canvas);

}  // namespace lockstep::ui
