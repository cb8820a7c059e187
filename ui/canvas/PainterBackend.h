#pragma once

#include "ui/canvas/DisplayList.h"

class QPainter;

namespace lockstep::ui {

/// Draws a display list with a QPainter whose coordinates are logical pixels: on a widget, an
/// image, an SVG or a PDF. The painter's state is left as it was. [ui-thread]
void paint(const DisplayList& list, QPainter& painter);

}  // namespace lockstep::ui
