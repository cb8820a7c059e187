#pragma once

#include <QSettings>

namespace lockstep::ui {

/// Where the studio keeps what it remembers: in the user's configuration.
inline QSettings studioStore() {
  return QSettings(QStringLiteral("lockstep"), QStringLiteral("studio"));
}

}  // namespace lockstep::ui
