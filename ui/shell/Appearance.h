#pragma once

#include <QObject>
#include <QPalette>
#include <QPointer>

#include "ui/canvas/Palette.h"

namespace lockstep::ui {

class FlatStyle;

enum class ThemeChoice { kSystem, kLight, kDark };

/// Dresses the application: a flat style in the colours of the canvas, so that widgets and canvases
/// are of one piece. Make it right after the QApplication, while the palette is still
/// the desktop's: "system" takes that one's lightness. [ui-thread]
class Appearance : public QObject {
  Q_OBJECT

 public:
  explicit Appearance(QObject* parent = nullptr);

  void setChoice(ThemeChoice choice);
  [[nodiscard]] ThemeChoice choice() const { return choice_; }
  [[nodiscard]] Theme theme() const;
  /// Lets what opens move there, unless the desktop is set to move nothing. Until this is called,
  /// nothing moves.
  void moveAsDesktopDoes();

 signals:
  void changed(Theme theme);

 private:
  void dress();
  void askDesktop(const QString& group, const QString& setting);

  QPointer<FlatStyle> style_;  // the application's
  Theme system_ = Theme::kLight;
  ThemeChoice choice_ = ThemeChoice::kSystem;
};

/// Returns the widgets' palette of a theme.
QPalette widgetPalette(Theme theme);

}  // namespace lockstep::ui
