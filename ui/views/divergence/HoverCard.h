#pragma once

#include <QPointF>
#include <QSizeF>
#include <QString>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {

/// Draws a card of facts beside the pointer, on whichever side of a canvas of `size` there is
/// room. Values that are sentences are broken into lines; a fact without a name goes on under the
/// one before it.
void drawHoverCard(DisplayList& list, QSizeF size, QPointF pointer, const QString& title,
                   const std::vector<Fact>& facts, const Palette& palette);

/// Draws a sentence, and more about it under it, in the middle of an area.
void drawMessage(DisplayList& list, const QRectF& area, const QString& title, const QString& more,
                 const QColor& colour, const Palette& palette);

/// Returns a text in lines that are not wider than that many logical pixels.
QStringList wrapped(const QString& text, double width, FontRole font);

}  // namespace lockstep::ui
