#pragma once

#include <QRectF>
#include <QString>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// Draws a line down a plot at `x`, in the colour of errors, with a plate that says what begins
/// there, on the side that has room for it.
void drawErrorMark(DisplayList& list, const QRectF& plot, double x, const QString& text,
                   const Palette& palette);

}  // namespace lockstep::ui
