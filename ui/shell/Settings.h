#pragma once

#include <QByteArray>
#include <QSettings>
#include <QString>
#include <QStringList>

#include "ui/shell/Appearance.h"

namespace lockstep::ui {

/// What the studio remembers from one session to the next, in the user's configuration.
/// [ui-thread]
class Settings {
 public:
  Settings();

  [[nodiscard]] ThemeChoice theme() const;
  void setTheme(ThemeChoice choice);

  [[nodiscard]] QByteArray geometry() const;
  [[nodiscard]] QByteArray docks() const;
  void setWindow(const QByteArray& geometry, const QByteArray& docks);

  /// Last opened run files, the latest first, at most ten.
  [[nodiscard]] QStringList recentRuns() const;
  void addRecentRun(const QString& path);

  [[nodiscard]] QString experiment() const;
  void setExperiment(const QString& path);

 private:
  QSettings store_;
};

QString themeName(ThemeChoice choice);
/// Takes "system", "light" and "dark"; anything else is the system's.
ThemeChoice themeFromName(const QString& name);

}  // namespace lockstep::ui
