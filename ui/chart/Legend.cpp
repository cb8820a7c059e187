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
                  const Palette& palette, Qt::Alignment alignment) {
  constexpr double kSide = 12;
  constexpr double kStroke = 3;
  constexpr double kText = 17;
  constexpr double kGap = 16;
  std::vector<double> widths;
  double total = 0;
  for (const LegendEntry& entry : entries) {
    const double width = textWidth(entry.text, FontRole::kSmall) + 2;
    if (total + kText + width > area.width()) {
      break;
    }
    widths.push_back(width);
    total += kText + width + kGap;
  }
  double x = alignment.testFlag(Qt::AlignRight) ? area.right() + kGap - total : area.left();
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const LegendEntry& entry = entries[i];
    const double height = entry.swatch.stroke ? kStroke : kSide;
    drawSwatch(list, QRectF(x, area.center().y() - height / 2, kSide, height), entry.swatch);
    list.text(QRectF(x + kText, area.top(), widths[i], area.height()), entry.text,
              palette.textMuted, FontRole::kSmall);
    x += kText + widths[i] + kGap;
  }
  return total;
}

}  // namespace lockstep::ui
