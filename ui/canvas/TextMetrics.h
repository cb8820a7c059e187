#pragma once

#include <QFont>
#include <QFontMetricsF>
#include <QString>
#include <QStringList>
#include <limits>

#include "ui/canvas/DisplayList.h"

namespace lockstep::ui {

// All [ui-thread]; the answers follow the font of the application.

/// Returns the font of a role: the application's, or its fixed-pitch companion, at the size of
/// the canvas. Sizes are in logical pixels, so that pictures are alike on every screen.
const QFont& canvasFont(FontRole role);

/// Returns the metrics of that font.
const QFontMetricsF& canvasFontMetrics(FontRole role);

/// Returns the size of the font of a role in logical pixels.
int canvasFontPixels(FontRole role);

/// Returns the width of a text in logical pixels.
double textWidth(const QString& text, FontRole role);

/// Breaks a text between words into lines that are not wider than `width` logical pixels, unless a
/// single word is; an empty text into none. Of `most` lines the last has all the rest, and is
/// elided where it is drawn.
QStringList brokenInto(const QString& text, double width, FontRole role,
                       qsizetype most = std::numeric_limits<qsizetype>::max());

/// Returns the height of a line of text in logical pixels.
double lineHeight(FontRole role);

}  // namespace lockstep::ui
