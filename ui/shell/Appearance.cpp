#include "ui/shell/Appearance.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusVariant>
#include <QToolTip>

#include "ui/shell/FlatStyle.h"

namespace lockstep::ui {

Appearance::Appearance(QObject* parent) : QObject(parent) {
  // Before the palette below takes the place of the desktop's, of which nothing is left then.
  system_ = QApplication::palette().color(QPalette::Window).lightness() < 128 ? Theme::kDark
                                                                             : Theme::kLight;
  style_ = new FlatStyle;
  QApplication::setStyle(style_);
  dress();
}

void Appearance::dress() {
  const QPalette palette = widgetPalette(theme());
  QApplication::setPalette(palette);
  // Tips have a palette of their own, in which a desktop may have other colours.
  QToolTip::setPalette(palette);
}

// Qt tells nothing of it before 6.10. GNOME, and what follows it, has a switch; Plasma has a factor
// for the length of all movements, which is 0 for none.
void Appearance::moveAsDesktopDoes() {
  style_->setMotion(true);
  askDesktop(QStringLiteral("org.gnome.desktop.interface"), QStringLiteral("enable-animations"));
  askDesktop(QStringLiteral("org.kde.kdeglobals.KDE"), QStringLiteral("AnimationDurationFactor"));
}

// By the portal, which a desktop without it does not answer: then all moves.
void Appearance::askDesktop(const QString& group, const QString& setting) {
  QDBusMessage question = QDBusMessage::createMethodCall(
      QStringLiteral("org.freedesktop.portal.Desktop"),
      QStringLiteral("/org/freedesktop/portal/desktop"),
      QStringLiteral("org.freedesktop.portal.Settings"), QStringLiteral("Read"));
  question << group << setting;
  auto* answer =
      new QDBusPendingCallWatcher(QDBusConnection::sessionBus().asyncCall(question), this);
  connect(answer, &QDBusPendingCallWatcher::finished, this, [this, answer] {
    answer->deleteLater();
    const QDBusPendingReply<QDBusVariant> reply = *answer;
    if (reply.isError()) {
      return;
    }
    // The portal wraps what the desktop answered, which is wrapped already.
    QVariant value = reply.value().variant();
    if (value.canConvert<QDBusVariant>()) {
      value = value.value<QDBusVariant>().variant();
    }
    if (value.toDouble() == 0 && style_ != nullptr) {  // "0", 0.0 or false
      style_->setMotion(false);
    }
  });
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
    dress();
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
  palette.setColor(QPalette::Link, colors.action);
  palette.setColor(QPalette::LinkVisited, colors.action);
  palette.setColor(QPalette::Highlight, colors.chosen);
  palette.setColor(QPalette::HighlightedText, colors.text);
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
