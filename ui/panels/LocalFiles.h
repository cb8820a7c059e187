#pragma once

#include <QFileInfo>
#include <QMimeData>
#include <QString>
#include <QStringList>
#include <QUrl>

namespace lockstep::ui {

/// The paths of this machine among what is dragged or dropped; with an `ending` only those that
/// have it.
inline QStringList localFiles(const QMimeData& data, const QString& ending = {}) {
  QStringList paths;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile() && url.toLocalFile().endsWith(ending)) {
      paths.append(url.toLocalFile());
    }
  }
  return paths;
}

/// The file that stands beside a run file, called as it is but for the ending.
inline QString fileBeside(const QString& run, const QString& ending) {
  const QFileInfo file(run);
  return file.absolutePath() + '/' + file.completeBaseName() + ending;
}

}  // namespace lockstep::ui
