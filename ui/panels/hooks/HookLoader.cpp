#include "ui/panels/hooks/HookLoader.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <utility>

#include "engine/plugin/PluginFolders.h"
#include "ui/model/BackgroundJob.h"

namespace lockstep::ui {
namespace {

QString userFolder() {
  QString folder;
  for (const plugin::PluginFolder& each : plugin::pluginFolders()) {
    if (each.kind == plugin::PluginFolder::Kind::kUser) {
      folder = QString::fromStdString(each.path);
    }
  }
  return folder;
}

}  // namespace

HookLoader::HookLoader(QString folder, plugin::ScanOptions scan, QWidget* window)
    : QObject(window),
      folder_(folder.isEmpty() ? userFolder() : std::move(folder)),
      scan_(std::move(scan)),
      window_(window) {}

void HookLoader::choose() {
  auto* dialog = new QFileDialog(window_, tr("Load a library of hooks"), QString(),
                                 tr("Libraries of hooks (*.so)"));
  dialog->setObjectName("loadHookDialog");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFiles);
  connect(dialog, &QFileDialog::filesSelected, this, &HookLoader::load);
  dialog->open();
}

void HookLoader::load(const QStringList& paths) {
  waiting_ << paths;
  next();
}

void HookLoader::hold(bool held) {
  held_ = held;
  next();
}

void HookLoader::next() {
  if (held_ || busy_ || waiting_.isEmpty()) {
    return;
  }
  if (folder_.isEmpty()) {
    waiting_.clear();  // none of them has a place to go to
    emit said(tr("There is no folder for hooks of yours: neither XDG_DATA_HOME nor HOME is set"),
              true);
    return;
  }
  const QString path = waiting_.takeFirst();
  emit said(tr("Looking at %1…").arg(QFileInfo(path).fileName()), false);
  busy_ = true;
  inBackground(
      this,
      [file = path.toStdString(), into = folder_.toStdString(),
       replace = path == std::exchange(toReplace_, QString()),
       options = scan_] { return loadHook(file, into, replace, options); },
      [this, path](const LoadedHook& loaded) {
        busy_ = false;
        take(path, loaded);
      });
}

// Note [One library after the other]
//
// Each library that is brought in changes what the folders hold, so they are scanned before the
// next one is looked at; the panel does that, and holds this meanwhile.
//
//   load ─▶ waiting_ ─ next ─▶ loadHook (pool) ─▶ take
//     kLoaded, kRefused ─▶ signal ─▶ the panel: hold(true), scan, hold(false) ─▶ next
//     kExists           ─▶ askToReplace ─ yes ─▶ to the front again, as toReplace_ ─▶ next
//     kFailed           ─▶ next
//
// A yes is for one library and its next try: `next` takes toReplace_ away whatever comes of it.
void HookLoader::take(const QString& path, const LoadedHook& loaded) {
  const QString name = QFileInfo(path).fileName();
  switch (loaded.outcome) {
    case LoadedHook::Outcome::kRefused:
      emit said(tr("%1 was refused and not loaded: %2")
                    .arg(name, QString::fromStdString(loaded.library.error)),
                true);
      emit refused(loaded.library, QFileInfo(path).completeBaseName());
      return;
    case LoadedHook::Outcome::kExists:
      askToReplace(path, QString::fromStdString(loaded.target));
      return;
    case LoadedHook::Outcome::kFailed:
      emit said(name + QStringLiteral(": ") + QString::fromStdString(loaded.error), true);
      next();
      return;
    case LoadedHook::Outcome::kLoaded:
      break;
  }
  QStringList ids;
  for (const plugin::HookInfo& hook : loaded.library.info.hooks) {
    ids << QString::fromStdString(hook.id);
  }
  emit said(tr("Loaded %1 into %2")
                .arg(ids.join(QStringLiteral(", ")),
                     QFileInfo(QString::fromStdString(loaded.target)).absolutePath()),
            false);
  emit this->loaded(loaded.library);
}

void HookLoader::askToReplace(const QString& path, const QString& target) {
  auto* box = new QMessageBox(QMessageBox::Question, tr("Replace a library of hooks"),
                              tr("%1 exists and is another file. Replace it?").arg(target),
                              QMessageBox::Yes | QMessageBox::No, window_);
  box->setObjectName("replaceHook");
  box->setAttribute(Qt::WA_DeleteOnClose);
  connect(box, &QMessageBox::finished, this, [this, path](int answer) {
    if (answer == QMessageBox::Yes) {
      waiting_.prepend(path);
      toReplace_ = path;
    } else {
      emit said(tr("%1 was left as it is").arg(QFileInfo(path).fileName()), false);
    }
    next();
  });
  box->open();
}

}  // namespace lockstep::ui
