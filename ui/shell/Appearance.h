#pragma once

#include <QObject>
#include <QPalette>

#include "ui/canvas/Palette.h"

namespace lockstep::ui {

enum class ThemeChoice { kSystem, kLight, kDark };

/// Dresses the application: the Fusion style in the colours of the canvas, so that widgets and
/// canvases are of one piece. Make it right after the QApplication, while the palette is still
/// the desktop's: "system" takes that one's lightness. [ui-thread]
class Appearance : public QObject {
  Q_OBJECT

 public:
  explicit Appearance(QObject* parent = nullptr);

  void setChoice(ThemeChoice choice);
  [[nodiscard]] ThemeChoice choice() const { return choice_; }
  [[nodiscard]] Theme theme() const;

 signals:
  void changed(Theme theme);

 private:
  Theme system_ = Theme::kLight;
  ThemeChoice choice_ = ThemeChoice::kSystem;
};

/// Returns the widgets' palette of a theme.
QPalette widgetPalette(Theme theme);

}  // namespace lockstep::ui
