#include "ui/shell/Programs.h"

#include <sys/file.h>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <cerrno>
#include <utility>

#include "engine/base/ShippedFiles.h"

namespace lockstep::ui {
namespace {

QString executable(const QString& folder, const QString& name) {
  const QFileInfo file(QDir(folder), name);
  return file.isFile() && file.isExecutable() ? file.absoluteFilePath() : QString();
}

// app/run writes how far it is into this file, and holds a lock on it while it builds. The lock
// ends with the build however that ends, the file may stay: only the lock counts.
void askBuild(Programs& programs) {
  QFile note(QDir(programs.folder).filePath(QStringLiteral("BUILDING")));
  if (!note.open(QIODevice::ReadOnly)) {
    return;
  }
  programs.building = flock(note.handle(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (programs.building) {
    programs.progress = QString::fromUtf8(note.readAll()).trimmed();
  }
}

constexpr int kLookEveryMs = 1000;

}  // namespace

Programs findPrograms(const QString& folder) {
  Programs programs;
  programs.folder = folder.isEmpty() ? QCoreApplication::applicationDirPath()
                                     : QFileInfo(folder).absoluteFilePath();
  askBuild(programs);
  // A program that is there may be of an earlier build, or half linked.
  if (programs.building) {
    return programs;
  }
  programs.lockstep = executable(programs.folder, QStringLiteral("lockstep"));
  programs.rank = executable(programs.folder, QStringLiteral("lockstep-rank"));
  return programs;
}

QString reasonAgainstStarting(const Programs& programs) {
  if (programs.building) {
    return programs.progress.isEmpty()
               ? BuildWatch::tr(
                     "lockstep is still being built; runs can be started when it is done")
               : BuildWatch::tr(
                     "lockstep is still being built: %1; runs can be started when it is done")
                     .arg(programs.progress);
  }
  return programs.lockstep.isEmpty()
             ? BuildWatch::tr("No lockstep program in %1").arg(programs.folder)
             : QString();
}

BuildWatch::BuildWatch(QString folder, QObject* parent)
    : QObject(parent), folder_(std::move(folder)), programs_(findPrograms(folder_)) {
  connect(&timer_, &QTimer::timeout, this, &BuildWatch::look);
  if (programs_.building) {
    timer_.start(kLookEveryMs);
  }
}

void BuildWatch::look() {
  Programs now = findPrograms(folder_);
  // A note that is just being written is empty: what it said before is still nearly right.
  if (now.building && (now.progress.isEmpty() || now.progress == programs_.progress)) {
    return;
  }
  programs_ = std::move(now);
  if (!programs_.building) {
    timer_.stop();
  }
  emit changed();
}

QString shippedExperiments() {
  for (const auto& place : base::shippedPlaces("experiments", "experiments")) {
    if (const QDir folder(QString::fromStdString(place.string())); folder.exists()) {
      return folder.path();
    }
  }
  return {};
}

QString defaultRunsFolder() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) +
         QStringLiteral("/lockstep/runs");
}

}  // namespace lockstep::ui
