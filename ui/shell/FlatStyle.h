#pragma once

#include <QProxyStyle>

class QStyleOptionToolButton;

namespace lockstep::ui {

/// How controls look: Fusion without its bevels. What can be pressed has a thin outline and round
/// corners, the tab in front a line in the accent colour, what has the keyboard a ring of it;
/// spacings are of `Spacing.h`. All colours are those of the palette that the widget has. Tips
/// break into lines.
class FlatStyle : public QProxyStyle {
 public:
  FlatStyle();

  /// Whether docks and cards that open move there, unless the desktop wants nothing to move.
  void setMotion(bool motion) { motion_ = motion; }

  using QProxyStyle::polish;
  void polish(QWidget* widget) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

  int pixelMetric(PixelMetric metric, const QStyleOption* option,
                  const QWidget* widget) const override;
  int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                QStyleHintReturn* more) const override;
  QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& contents,
                         const QWidget* widget) const override;
  QRect subControlRect(ComplexControl control, const QStyleOptionComplex* option,
                       SubControl part, const QWidget* widget) const override;
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override;
  void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                          QPainter* painter, const QWidget* widget) const override;

 private:
  void drawMenuButton(const QStyleOptionToolButton& button, QPainter& painter,
                      const QWidget* widget) const;

  bool motion_ = false;
};

}  // namespace lockstep::ui
