#pragma once

#include <QFileInfo>
#include <QSettings>
#include <QString>

namespace lockstep::ui {

/// Where the studio keeps what it remembers: in the user's configuration.
inline QSettings studioStore() {
  return QSettings(QStringLiteral("lockstep"), QStringLiteral("studio"));
}

/// Where it keeps the forecasts that were run: beside that.
inline QString forecastsFile() {
  return QFileInfo(studioStore().fileName()).absolutePath() + QStringLiteral("/forecasts.jsonl");
}

}  // namespace lockstep::ui
