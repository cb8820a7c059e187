#include "ui/canvas/PlotMark.h"

#include <cmath>

#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {

void drawErrorMark(DisplayList& list, const QRectF& plot, double x, const QString& text,
                   const Palette& palette) {
  const double line = std::round(x);
  list.fill(QRectF(line, plot.top(), 1.5, plot.height()), palette.error);
  const double width = textWidth(text, FontRole::kSmall) + 10;
  const bool right = line + width < plot.right();
  const QRectF plate(right ? line + 2 : line - width - 2, plot.top() + 2, width, 16);
  list.fill(plate, palette.error, 3);
  list.text(plate, text, Palette::textOn(palette.error), FontRole::kSmall,
            Qt::AlignHCenter | Qt::AlignVCenter);
}

}  // namespace lockstep::ui
