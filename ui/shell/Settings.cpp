#include "ui/shell/Settings.h"

namespace lockstep::ui {
namespace {

constexpr int kRecentRuns = 10;
// Raised when docks or toolbars change, so that an old arrangement is not forced on them.
const QString kDocksKey = QStringLiteral("window/docks1");

}  // namespace

Settings::Settings() : store_(QStringLiteral("lockstep"), QStringLiteral("studio")) {}

QString themeName(ThemeChoice choice) {
  switch (choice) {
    case ThemeChoice::kLight: return QStringLiteral("light");
    case ThemeChoice::kDark: return QStringLiteral("dark");
    case ThemeChoice::kSystem: break;
  }
  return QStringLiteral("system");
}

ThemeChoice themeFromName(const QString& name) {
  if (name == QStringLiteral("light")) return ThemeChoice::kLight;
  if (name == QStringLiteral("dark")) return ThemeChoice::kDark;
  return ThemeChoice::kSystem;
}

ThemeChoice Settings::theme() const {
  return themeFromName(store_.value(QStringLiteral("theme")).toString());
}

void Settings::setTheme(ThemeChoice choice) {
  store_.setValue(QStringLiteral("theme"), themeName(choice));
}

QByteArray Settings::geometry() const {
  return store_.value(QStringLiteral("window/geometry")).toByteArray();
}

QByteArray Settings::docks() const { return store_.value(kDocksKey).toByteArray(); }

void Settings::setWindow(const QByteArray& geometry, const QByteArray& docks) {
  store_.setValue(QStringLiteral("window/geometry"), geometry);
  store_.setValue(kDocksKey, docks);
}

QStringList Settings::recentRuns() const {
  return store_.value(QStringLiteral("recentRuns")).toStringList();
}

void Settings::addRecentRun(const QString& path) {
  QStringList runs = recentRuns();
  runs.removeAll(path);
  runs.prepend(path);
  store_.setValue(QStringLiteral("recentRuns"), runs.mid(0, kRecentRuns));
}

QString Settings::experiment() const { return store_.value(QStringLiteral("experiment")).toString(); }

void Settings::setExperiment(const QString& path) {
  store_.setValue(QStringLiteral("experiment"), path);
}

}  // namespace lockstep::ui
