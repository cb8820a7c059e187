#pragma once

#include <QColor>
#include <QRectF>
#include <QString>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// What fills a bar of a chart and stands for it in legends and cards. All [ui-thread].
struct Swatch {
  QColor colour;
  QColor hatch;  ///< of lines over it, where the colour alone does not tell; not valid: none
  bool stroke = false;  ///< stands for a curve
};

/// A pale colour under lines of it.
Swatch hatched(const QColor& colour, const Palette& palette);

void drawSwatch(DisplayList& list, const QRectF& rect, const Swatch& swatch, double radius = 2);

struct LegendEntry {
  Swatch swatch;
  QString text;
};

/// Returns how high an area of this width is that has room for all entries.
double legendHeight(const std::vector<LegendEntry>& entries, double width);

/// Draws as many entries as the area has room for, side by side and in as many lines as it is high,
/// from the left or up to the right. Returns the width of the widest line, with the gap after its
/// last entry.
double drawLegend(DisplayList& list, const QRectF& area, const std::vector<LegendEntry>& entries,
                  const Palette& palette, Qt::Alignment alignment = Qt::AlignLeft);

}  // namespace lockstep::ui
