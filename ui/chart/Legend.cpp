#include "ui/chart/Legend.h"

#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {

Swatch hatched(const QColor& colour, const Palette& palette) {
  return {mixed(colour, palette.background, 0.35), colour};
}

void drawSwatch(DisplayList& list, const QRectF& rect, const Swatch& swatch, double radius) {
  list.fill(rect, swatch.colour, radius);
  if (swatch.hatch.isValid()) {
    list.hatch(rect, swatch.hatch);
  }
}

double drawLegend(DisplayList& list, const QRectF& area, const std::vector<LegendEntry>& entries,
                  const Palette& palette) {
  constexpr double kSide = 12;
  constexpr double kText = 17;
  constexpr double kGap = 16;
  double x = area.left();
  for (const LegendEntry& entry : entries) {
    const double width = textWidth(entry.text, FontRole::kSmall);
    if (x + kText + width > area.right()) {
      break;
    }
    drawSwatch(list, QRectF(x, area.center().y() - kSide / 2, kSide, kSide), entry.swatch);
    list.text(QRectF(x + kText, area.top(), width + 2, area.height()), entry.text,
              palette.textMuted, FontRole::kSmall);
    x += kText + width + kGap;
  }
  return x - area.left();
}

}  // namespace lockstep::ui
