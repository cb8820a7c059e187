#pragma once

#include <QColor>
#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <QString>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/model/Fact.h"

namespace lockstep::ui {

// What canvases show over their drawing, in logical pixels. All [ui-thread].

/// Draws the empty ground of a card beside the pointer, on whichever side of a canvas of `size`
/// there is room, and returns where it is.
QRectF drawCardGround(DisplayList& list, QSizeF size, QPointF pointer, QSizeF card,
                      const Palette& palette);

/// Draws a card of facts there: a title, with a chip before it when that has a colour, and the
/// facts under it, long values in several lines.
void drawFactCard(DisplayList& list, QSizeF size, QPointF pointer, const QString& title,
                  const QColor& chip, const std::vector<Fact>& facts, const Palette& palette);

/// Draws a sentence, and more about it under it, in the middle of an area.
void drawMessage(DisplayList& list, const QRectF& area, const QString& title, const QString& more,
                 const QColor& colour, const Palette& palette);

}  // namespace lockstep::ui
