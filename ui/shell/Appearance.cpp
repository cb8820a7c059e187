#include "ui/shell/Appearance.h"

#include <QApplication>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>

namespace lockstep::ui {
namespace {

// Fusion, with flat bars: its bevels are made of translucent white, which glares on dark.
class FlatBars : public QProxyStyle {
 public:
  FlatBars() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

  int pixelMetric(PixelMetric metric, const QStyleOption* option,
                  const QWidget* widget) const override {
    // Nine views stand beside what was found in a window of 1,280 pixels.
    constexpr int kBesideTabText = 12;
    return metric == PM_TabBarTabHSpace ? kBesideTabText
                                        : QProxyStyle::pixelMetric(metric, option, widget);
  }

  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override {
    switch (element) {
      case CE_ToolBar:
        painter->fillRect(option->rect, option->palette.window());
        painter->fillRect(QRect(option->rect.left(), option->rect.bottom(), option->rect.width(), 1),
                          option->palette.mid());
        return;
      case CE_MenuBarEmptyArea: painter->fillRect(option->rect, option->palette.window()); return;
      default: QProxyStyle::drawControl(element, option, painter, widget);
    }
  }

  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    if (element == PE_PanelMenuBar) {
      return;
    }
    QProxyStyle::drawPrimitive(element, option, painter, widget);
  }
};

}  // namespace

Appearance::Appearance(QObject* parent) : QObject(parent) {
  // Before the palette below takes the place of the desktop's, of which nothing is left then.
  system_ = QApplication::palette().color(QPalette::Window).lightness() < 128 ? Theme::kDark
                                                                             : Theme::kLight;
  QApplication::setStyle(new FlatBars);
  QApplication::setPalette(widgetPalette(theme()));
}

Theme Appearance::theme() const {
  return choice_ == ThemeChoice::kSystem ? system_
         : choice_ == ThemeChoice::kDark ? Theme::kDark
                                         : Theme::kLight;
}

void Appearance::setChoice(ThemeChoice choice) {
  const Theme before = theme();
  choice_ = choice;
  if (theme() != before) {
    QApplication::setPalette(widgetPalette(theme()));
    emit changed(theme());
  }
}

QPalette widgetPalette(Theme theme) {
  const Palette& colors = Palette::of(theme);
  const bool dark = theme == Theme::kDark;
  QPalette palette;
  palette.setColor(QPalette::Window, colors.surface);
  palette.setColor(QPalette::WindowText, colors.text);
  palette.setColor(QPalette::Base, colors.background);
  palette.setColor(QPalette::AlternateBase, colors.lane);
  palette.setColor(QPalette::Text, colors.text);
  // On dark, buttons are lighter than the window they lie on; on light their outline tells them
  // apart.
  palette.setColor(QPalette::Button, dark ? colors.raised : colors.surface);
  palette.setColor(QPalette::ButtonText, colors.text);
  palette.setColor(QPalette::BrightText, colors.error);
  palette.setColor(QPalette::ToolTipBase, colors.raised);
  palette.setColor(QPalette::ToolTipText, colors.text);
  palette.setColor(QPalette::PlaceholderText, colors.textMuted);
  // The canvas keeps its accent for the selected span; widgets have a calmer one.
  const QColor accent(dark ? "#6cb6ff" : "#0a5cbf");
  const QColor highlight(dark ? "#1f5fa8" : "#0a5cbf");
  palette.setColor(QPalette::Link, accent);
  palette.setColor(QPalette::LinkVisited, accent);
  palette.setColor(QPalette::Highlight, highlight);
  palette.setColor(QPalette::HighlightedText, Qt::white);
  // Fusion draws its outlines and bevels from these.
  palette.setColor(QPalette::Light, dark ? colors.raised.lighter(115) : QColor(Qt::white));
  palette.setColor(QPalette::Midlight, dark ? colors.raised.lighter(105) : colors.lane);
  palette.setColor(QPalette::Mid, colors.gridStrong);
  palette.setColor(QPalette::Dark, dark ? colors.background.darker(130) : colors.gridStrong);
  palette.setColor(QPalette::Shadow, dark ? QColor(Qt::black) : colors.gridStrong.darker(130));

  QColor faded = colors.textMuted;
  faded.setAlphaF(0.65F);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText,
                          QPalette::PlaceholderText}) {
    palette.setColor(QPalette::Disabled, role, faded);
  }
  palette.setColor(QPalette::Disabled, QPalette::Highlight, colors.gridStrong);
  palette.setColor(QPalette::Disabled, QPalette::HighlightedText, colors.textMuted);
  return palette;
}

}  // namespace lockstep::ui
