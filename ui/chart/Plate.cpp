#include "ui/chart/Plate.h"

#include "ui/canvas/Palette.h"

namespace lockstep::ui {

void drawPlate(DisplayList& list, const QRectF& rect, const QString& text, const QColor& ground,
               const PlateStyle& style) {
  list.fill(rect, ground, style.radius);
  list.text(rect, text, style.ink.isValid() ? style.ink : Palette::textOn(ground), style.font,
            Qt::AlignCenter);
}

}  // namespace lockstep::ui
