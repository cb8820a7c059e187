#pragma once

#include <QPointF>
#include <QString>
#include <optional>

#include "ui/canvas/Canvas.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// A widget that draws on a canvas in the colours of a theme, and knows where the pointer is over
/// it; help asked for there opens the glossary at its heading. [ui-thread]
template <typename Base>
class CanvasPart : public Base, protected CanvasClient {
 public:
  using Base::Base;

  void setTheme(Theme theme) {
    theme_ = theme;
    themeChanged();
    repaintSoon();
  }
  /// Null in what draws nothing itself.
  [[nodiscard]] Canvas* canvas() const { return canvas_; }
  void repaintSoon() {
    if (canvas_ != nullptr) {
      canvas_->repaintSoon();
    }
  }

 protected:
  /// Another theme holds; the canvas is painted anew by itself.
  virtual void themeChanged() {}
  /// What the glossary has on all that is drawn. Where that differs from place to place, the part
  /// says so by a `headingAt` of its own.
  void setHeading(const QString& heading) { heading_ = heading; }
  [[nodiscard]] QString headingAt(QPointF /*at*/) const override { return heading_; }
  void pointerMoved(const PointerInput& input) override { point(input.position); }
  void pointerLeft() override { point(std::nullopt); }
  [[nodiscard]] const Palette& colours() const { return Palette::of(theme_); }

  Canvas* canvas_ = nullptr;
  Theme theme_ = Theme::kLight;
  std::optional<QPointF> pointer_;

 private:
  QString heading_;

  void point(std::optional<QPointF> at) {
    pointer_ = at;
    repaintSoon();
  }
};

}  // namespace lockstep::ui
