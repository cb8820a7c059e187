#include "ui/shell/Appearance.h"

#include <QApplication>
#include <QStyleFactory>

namespace lockstep::ui {

Appearance::Appearance(QObject* parent) : QObject(parent) {
  system_ = QApplication::palette().color(QPalette::Window).lightness() < 128 ? Theme::kDark
                                                                             : Theme::kLight;
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setPalette(widgetPalette(theme()));
}

Theme Appearance::theme() const {
  switch (choice_) {
    case ThemeChoice::kLight: return Theme::kLight;
    case ThemeChoice::kDark: return Theme::kDark;
    case ThemeChoice::kSystem: break;
  }
  return system_;
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
  palette.setColor(QPalette::Button, dark ? colors.raised : colors.surface);
  palette.setColor(QPalette::ButtonText, colors.text);
  palette.setColor(QPalette::BrightText, colors.error);
  palette.setColor(QPalette::ToolTipBase, colors.raised);
  palette.setColor(QPalette::ToolTipText, colors.text);
  palette.setColor(QPalette::PlaceholderText, colors.textMuted);
  palette.setColor(QPalette::Link, colors.accent);
  palette.setColor(QPalette::LinkVisited, colors.accent);
  palette.setColor(QPalette::Highlight, colors.accent);
  palette.setColor(QPalette::HighlightedText, Palette::textOn(colors.accent));
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
