#include "ui/shell/Programs.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace lockstep::ui {
namespace {

QString executable(const QString& folder, const QString& name) {
  const QFileInfo file(QDir(folder), name);
  return file.isFile() && file.isExecutable() ? file.absoluteFilePath() : QString();
}

}  // namespace

Programs findPrograms(const QString& folder) {
  Programs programs;
  programs.folder = folder.isEmpty() ? QCoreApplication::applicationDirPath()
                                     : QFileInfo(folder).absoluteFilePath();
  programs.lockstep = executable(programs.folder, QStringLiteral("lockstep"));
  programs.rank = executable(programs.folder, QStringLiteral("lockstep-rank"));
  return programs;
}

QString shippedExperiments() {
  QDir folder(QCoreApplication::applicationDirPath());
  const QDir installed(folder.filePath(QStringLiteral("../share/lockstep/experiments")));
  if (installed.exists()) {
    return installed.canonicalPath();
  }
  constexpr int kLevels = 4;  // build/bin, build/PRESET/bin
  for (int level = 0; level < kLevels && folder.cdUp(); ++level) {
    if (folder.exists(QStringLiteral("experiments/first_steps"))) {
      return folder.filePath(QStringLiteral("experiments"));
    }
  }
  return {};
}

QString defaultRunsFolder() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) +
         QStringLiteral("/lockstep/runs");
}

}  // namespace lockstep::ui
