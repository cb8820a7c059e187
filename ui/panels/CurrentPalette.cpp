#include "ui/panels/CurrentPalette.h"

#include <QApplication>
#include <QPalette>

namespace lockstep::ui {

const Palette& currentPalette() {
  const bool dark = QApplication::palette().color(QPalette::Window).lightness() < 128;
  return Palette::of(dark ? Theme::kDark : Theme::kLight);
}

QColor currentAccent() { return QApplication::palette().color(QPalette::Link); }

}  // namespace lockstep::ui
