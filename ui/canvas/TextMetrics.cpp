#include "ui/canvas/TextMetrics.h"

#include <QFontDatabase>
#include <QFontMetricsF>
#include <QGuiApplication>

namespace lockstep::ui {

int canvasFontPixels(FontRole role) {
  switch (role) {
    case FontRole::kSmall: return 11;
    case FontRole::kNormal:
    case FontRole::kBold: return 12;
    case FontRole::kMono: return 11;
  }
  return 12;
}

QFont canvasFont(FontRole role) {
  QFont font = role == FontRole::kMono ? QFontDatabase::systemFont(QFontDatabase::FixedFont)
                                       : QGuiApplication::font();
  font.setPixelSize(canvasFontPixels(role));
  font.setBold(role == FontRole::kBold);
  return font;
}

double textWidth(const QString& text, FontRole role) {
  return QFontMetricsF(canvasFont(role)).horizontalAdvance(text);
}

double lineHeight(FontRole role) { return QFontMetricsF(canvasFont(role)).height(); }

}  // namespace lockstep::ui
