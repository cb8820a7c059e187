#pragma once

#include <QColor>
#include <QRectF>
#include <QString>

#include "ui/canvas/DisplayList.h"

namespace lockstep::ui {

/// How a text stands on its plate.
struct PlateStyle {
  double radius = 3;
  FontRole font = FontRole::kSmall;
  QColor ink{};  ///< not valid: what reads best on the ground
};

/// Draws a text in the middle of a quiet ground of its own. [ui-thread]
void drawPlate(DisplayList& list, const QRectF& rect, const QString& text, const QColor& ground,
               const PlateStyle& style = {});

}  // namespace lockstep::ui
