#pragma once

#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// Returns the colours of the theme that the application's palette belongs to, so that a
/// table's states look as they do on the canvas. [ui-thread]
const Palette& currentPalette();

/// Returns the colour of what is going on or asks to be pressed.
QColor currentAccent();

}  // namespace lockstep::ui
