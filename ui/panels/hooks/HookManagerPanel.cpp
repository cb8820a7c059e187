#include "ui/panels/hooks/HookManagerPanel.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QTableView>
#include <QTimer>
#include <QUrl>
#include <utility>

#include "engine/plugin/PluginFolders.h"
#include "ui/panels/hooks/DisabledHooks.h"
#include "ui/panels/hooks/HookDetails.h"

// Loading, scanning, verifying. What it looks like stands in HookManagerLayout.cpp.
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

QStringList librariesOf(const QMimeData& data) {
  QStringList paths;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile() && url.toLocalFile().endsWith(QStringLiteral(".so"))) {
      paths << url.toLocalFile();
    }
  }
  return paths;
}

}  // namespace

HookManagerPanel::~HookManagerPanel() = default;

void HookManagerPanel::setExperiment(const QString& file) {
  if (experiment_ != file) {
    experiment_ = file;
    reload();
  }
}

void HookManagerPanel::setLockstep(const QString& path) {
  options_.lockstep = path;
  verifier_.setProgram(path);
  changed();
  reload();
}

void HookManagerPanel::reload() {
  rejected_.clear();
  rescan();
}

void HookManagerPanel::rescan() {
  scanning_ = true;
  reload_->setEnabled(false);
  scan_.start(
      [folders = plugin::pluginFolders(experiment_.toStdString()), options = options_.scan] {
        return plugin::scanFolders(folders, options);
      },
      [this](std::vector<plugin::FoundLibrary> libraries) { takeScan(std::move(libraries)); });
}

void HookManagerPanel::takeScan(std::vector<plugin::FoundLibrary> libraries) {
  scanning_ = false;
  reload_->setEnabled(true);
  libraries.insert(libraries.end(), rejected_.begin(), rejected_.end());
  hooks_.setLibraries(std::move(libraries));
  fillTable();
  if (!afterScan_.isEmpty()) {
    show(std::exchange(afterScan_, QString()));
  }
  changed();
  emit reloaded();
  loadNext(false);
}

void HookManagerPanel::chooseLibrary() {
  auto* dialog = new QFileDialog(this, tr("Load a library of hooks"), QString(),
                                 tr("Libraries of hooks (*.so)"));
  dialog->setObjectName("loadHookDialog");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFiles);
  connect(dialog, &QFileDialog::filesSelected, this, &HookManagerPanel::load);
  dialog->open();
}

void HookManagerPanel::load(const QStringList& paths) {
  toLoad_ << paths;
  if (!scanning_) {
    loadNext(false);
  }
}

void HookManagerPanel::loadNext(bool replace) {
  if (toLoad_.isEmpty()) {
    return;
  }
  const QString path = toLoad_.takeFirst();
  const QString folder = options_.folder.isEmpty() ? userFolder() : options_.folder;
  if (folder.isEmpty()) {
    say(tr("There is no folder for hooks of yours: neither XDG_DATA_HOME nor HOME is set"), true);
    return;
  }
  say(tr("Looking at %1…").arg(QFileInfo(path).fileName()));
  scanning_ = true;
  inBackground(
      this,
      [file = path.toStdString(), into = folder.toStdString(), replace, options = options_.scan] {
        return loadHook(file, into, replace, options);
      },
      [this, path](const LoadedHook& loaded) {
        scanning_ = false;
        takeLoaded(path, loaded);
      });
}

void HookManagerPanel::takeLoaded(const QString& path, const LoadedHook& loaded) {
  const QString name = QFileInfo(path).fileName();
  switch (loaded.outcome) {
    case LoadedHook::Outcome::kRefused:
      say(tr("%1 was refused and not loaded: %2")
              .arg(name, QString::fromStdString(loaded.library.error)),
          true);
      afterScan_ = QFileInfo(path).completeBaseName();
      rejected_.push_back(loaded.library);
      rescan();
      return;
    case LoadedHook::Outcome::kExists:
      askToReplace(path, QString::fromStdString(loaded.target));
      return;
    case LoadedHook::Outcome::kFailed:
      say(name + QStringLiteral(": ") + QString::fromStdString(loaded.error), true);
      loadNext(false);
      return;
    case LoadedHook::Outcome::kLoaded:
      break;
  }
  QStringList ids;
  for (const plugin::HookInfo& hook : loaded.library.info.hooks) {
    ids << QString::fromStdString(hook.id);
  }
  say(tr("Loaded %1 into %2")
          .arg(ids.join(QStringLiteral(", ")),
               QFileInfo(QString::fromStdString(loaded.target)).absolutePath()));
  afterScan_ = ids.value(0);
  rescan();
}

void HookManagerPanel::askToReplace(const QString& path, const QString& target) {
  auto* box = new QMessageBox(QMessageBox::Question, tr("Replace a library of hooks"),
                              tr("%1 exists and is another file. Replace it?").arg(target),
                              QMessageBox::Yes | QMessageBox::No, this);
  box->setObjectName("replaceHook");
  box->setAttribute(Qt::WA_DeleteOnClose);
  connect(box, &QMessageBox::finished, this, [this, path](int answer) {
    if (answer == QMessageBox::Yes) {
      toLoad_.prepend(path);
      loadNext(true);
    } else {
      say(tr("%1 was left as it is").arg(QFileInfo(path).fileName()));
      loadNext(false);
    }
  });
  box->open();
}

void HookManagerPanel::verifyCurrent() {
  if (verifier_.isRunning()) {
    verifier_.cancel();
    return;
  }
  const HookRow* row = current();
  if (row == nullptr || row->refused() || options_.lockstep.isEmpty()) {
    return;
  }
  seconds_ = 0;
  const QString library = row->path;  // the row goes when its state changes
  say(tr("Verifying the hooks of %1 on 2 and on 4 ranks…").arg(QFileInfo(library).fileName()));
  elapsed_->start();
  verifier_.start(library);
  hooks_.setVerifying(library);
  fillTable();
  changed();
}

void HookManagerPanel::takeVerdicts(const QString& library,
                                    const std::map<QString, HookVerdict>& verdicts,
                                    const QString& error) {
  elapsed_->stop();
  const QString name = QFileInfo(library).fileName();
  if (verifier_.wasCancelled()) {
    hooks_.setVerifying(QString());
    fillTable();
    say(tr("The verification of %1 was cancelled").arg(name));
    changed();
    return;
  }
  hooks_.setVerdicts(library, verdicts, error);
  fillTable();
  QStringList failed;
  for (const auto& [id, verdict] : verdicts) {
    if (!verdict.passes) {
      failed << id;
    }
  }
  if (!error.isEmpty()) {
    say(tr("%1 was not verified: %2").arg(name, error), true);
  } else if (!failed.isEmpty()) {
    say(tr("%1 does not keep what it promises").arg(failed.join(QStringLiteral(", "))), true);
  } else {
    say(tr("%1 keeps what it promises").arg(name));
  }
  changed();
}

void HookManagerPanel::disableCurrent() {
  const HookRow* row = current();
  if (row == nullptr || !row->usable()) {
    return;
  }
  const bool disable = !isHookDisabled(row->id, row->path);
  const QString id = row->id;  // the row goes when its state changes
  setHookDisabled(row->id, row->path, disable);
  hooks_.disabledChanged();
  fillTable();
  say(disable ? tr("%1 is no longer offered in the setup form; experiment files that name it "
                   "still run")
                    .arg(id)
              : tr("%1 is offered in the setup form again").arg(id));
  changed();
}

void HookManagerPanel::dragEnterEvent(QDragEnterEvent* event) {
  if (!librariesOf(*event->mimeData()).isEmpty()) {
    event->acceptProposedAction();
  }
}

void HookManagerPanel::dropEvent(QDropEvent* event) {
  load(librariesOf(*event->mimeData()));
  event->acceptProposedAction();
}

}  // namespace lockstep::ui
