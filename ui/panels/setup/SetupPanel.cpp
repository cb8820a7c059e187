#include "ui/panels/setup/SetupPanel.h"

#include <QCheckBox>
#include <QDateTime>
#include <QDir>
#include <QDragEnterEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QScrollArea>
#include <QTabWidget>
#include <QTimer>
#include <QUrl>
#include <algorithm>
#include <utility>

#include "engine/experiment/FieldText.h"
#include "ui/panels/setup/BucketPreview.h"
#include "ui/panels/setup/FaultList.h"
#include "ui/panels/setup/FieldEditor.h"
#include "ui/panels/setup/FieldGroup.h"
#include "ui/panels/setup/HookForm.h"

namespace lockstep::ui {

// What the panel does; SetupPanelForm.cpp makes its widgets and fills them.

SetupPanel::SetupPanel(SetupPaths paths, QWidget* parent)
    : QWidget(parent),
      paths_(std::move(paths)),
      catalog_(paths_.hookscan),
      describer_(paths_.rank) {
  setAcceptDrops(true);
  makeTop();
  makeGroups();
  makeBottom();
  connect(&draft_, &SetupDraft::changed, this, &SetupPanel::refresh);
  connect(&catalog_, &HookCatalog::answered, this, [this] {
    draft_.addMistakes(catalog_.answer().swept.mistakes);
    if (std::exchange(runWhenKnown_, false)) {
      run();
    }
  });
  connect(&describer_, &ModelDescriber::changed, this,
          [this] { preview_->show(draft_.parsed().experiment); });
  refresh();
}

SetupPanel::~SetupPanel() = default;

bool SetupPanel::mayDiscard() {
  if (!draft_.isDirty()) {
    return true;
  }
  const auto answer = QMessageBox::question(
      this, tr("Unsaved changes"), tr("Save the changes to %1?").arg(draft_.title()),
      QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
  return answer == QMessageBox::Discard || (answer == QMessageBox::Save && save());
}

bool SetupPanel::open(const QString& path) {
  runWhenKnown_ = false;
  if (!mayDiscard()) {
    return false;
  }
  const auto opened = draft_.open(path);
  if (!opened.ok()) {
    emit failed(QString::fromStdString(opened.error().message()));
  }
  return opened.ok();
}

void SetupPanel::openAndRun(const QString& path) {
  if (!open(path)) {
    return;
  }
  runWhenKnown_ = catalog_.isAsking();
  if (!runWhenKnown_) {
    run();
  }
}

void SetupPanel::setNote(const QString& sentence) {
  if (note_->text() == sentence) {
    return;
  }
  note_->setText(sentence);
  note_->setVisible(!sentence.isEmpty());
}

void SetupPanel::offerHooks(const QStringList& hooks) {
  hookForm_->setOffered(hooks);
}

void SetupPanel::newExperiment() {
  runWhenKnown_ = false;
  if (mayDiscard()) {
    draft_.begin();
  }
}

void SetupPanel::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open an experiment"),
                                                    QFileInfo(draft_.path()).absolutePath(),
                                                    tr("Experiments (*.toml);;All files (*)"));
  if (!path.isEmpty()) {
    open(path);
  }
}

bool SetupPanel::save() {
  if (!draft_.canSaveInPlace()) {
    return saveAs();
  }
  const auto done = draft_.save(draft_.path());
  if (!done.ok()) {
    emit failed(QString::fromStdString(done.error().message()));
    return false;
  }
  emit saved(draft_.path());
  return true;
}

bool SetupPanel::saveAs() {
  QString path = QFileDialog::getSaveFileName(this, tr("Save the experiment"),
                                              draft_.placeForACopy(), tr("Experiments (*.toml)"));
  if (path.isEmpty()) {
    return false;
  }
  if (QFileInfo(path).suffix().isEmpty()) {
    path += QStringLiteral(".toml");
  }
  const auto done = draft_.save(path);
  if (!done.ok()) {
    emit failed(QString::fromStdString(done.error().message()));
    return false;
  }
  emit saved(draft_.path());
  return true;
}

QString SetupPanel::reasonAgainstRun() const {
  const auto& mistakes = draft_.mistakes();
  if (!mistakes.empty()) {
    const QString first = QString::fromStdString(
        (mistakes.front().key.empty() ? "" : mistakes.front().key + ": ") + mistakes.front().text);
    return mistakes.size() == 1 ? first
                                : tr("%1 mistakes, the first: %2").arg(mistakes.size()).arg(first);
  }
  const bool own = draft_.parsed().experiment.hook.isOwn();
  if (catalog_.isAsking() && (!own || runCount() > 1)) {
    return own ? tr("Checking the runs of the sweep…")
               : tr("Asking the plugin of hook %1…")
                     .arg(QString::fromStdString(draft_.parsed().experiment.hook.name));
  }
  return {};
}

void SetupPanel::blockRun(const QString& reason) {
  if (reason != blocked_) {
    blocked_ = reason;
    refreshActions();
  }
}

void SetupPanel::setRank(const QString& rank, const QString& whyNot) {
  paths_.rank = rank;
  describer_.setRank(rank, whyNot);
  askPlugins();
  ask();
}

QString SetupPanel::writeDraft(const QString& name, const std::string& toml) {
  QString plain;
  for (const QChar letter : name) {
    const bool kept = letter.isLetterOrNumber() || QStringLiteral("-_.=,").contains(letter);
    plain += kept ? letter : QChar('-');
  }
  QDir().mkpath(paths_.drafts);
  for (int number = 1;; ++number) {
    const QString path = paths_.drafts + '/' + plain +
                         (number == 1 ? QString() : '-' + QString::number(number)) +
                         QStringLiteral(".toml");
    QFile file(path);
    if (file.exists()) {
      if (file.open(QIODevice::ReadOnly) && file.readAll().toStdString() == toml) {
        return path;
      }
      continue;  // of another draft, which may still wait in the queue
    }
    if (file.open(QIODevice::WriteOnly) &&
        file.write(toml.data(), static_cast<qint64>(toml.size())) >= 0) {
      return path;
    }
    emit failed(tr("%1 cannot be written: %2").arg(path, file.errorString()));
    return {};
  }
}

std::size_t SetupPanel::runCount() const {
  std::size_t runs = 1;
  for (const auto& axis : draft_.parsed().sweep) {
    runs *= axis.values.size();
  }
  return runs;
}

QStringList SetupPanel::filesToRun() {
  if (!draft_.parsed().sweep.empty()) {
    QStringList files;
    experiment::SweptExperiment swept = catalog_.answer().swept;
    const std::string name = swept.runs.front().parsed.experiment.name;
    swept.nameRuns(name + ' ' +
                   QDateTime::currentDateTimeUtc().toString("yyyyMMdd-HHmmss").toStdString());
    for (const experiment::SweptRun& run : swept.runs) {
      const QString path =
          writeDraft(QString::fromStdString(name + '-' + experiment::fileNamePart(run.label)),
                     experiment::toToml(run.parsed.experiment));
      if (path.isEmpty()) {
        return {};
      }
      files << path;
    }
    return files;
  }
  if (!draft_.isDirty() && !draft_.path().isEmpty()) {
    return {draft_.path()};
  }
  // Relative paths and plugins beside the file are settled, since the draft stands elsewhere.
  const auto& experiment = draft_.parsed().experiment.hook.isOwn()
                               ? draft_.parsed().experiment
                               : catalog_.answer().swept.runs.front().parsed.experiment;
  const QString path =
      writeDraft(QString::fromStdString(experiment.name), experiment::toToml(experiment));
  return path.isEmpty() ? QStringList() : QStringList(path);
}

void SetupPanel::run() {
  if (!reasonAgainstRun().isEmpty()) {
    return;
  }
  const QStringList files = blocked_.isEmpty() || runCount() > 1 ? filesToRun() : QStringList();
  if (runCount() > 1) {
    queueFiles(files);
  } else if (!files.isEmpty()) {
    emit runRequested(files.front());
  }
}

void SetupPanel::queueRun() {
  if (reasonAgainstRun().isEmpty()) {
    queueFiles(filesToRun());
  }
}

void SetupPanel::queueFiles(const QStringList& files) {
  for (const QString& file : files) {
    queue_.add(file);
  }
  if (queue_.rowCount() > 0) {
    tabs_->setCurrentIndex(1);
  }
}

void SetupPanel::find() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
}

void SetupPanel::showKey(const QString& key) {
  for (FieldEditor* editor : allEditors()) {
    if (QString::fromStdString(editor->field().key) != key) {
      continue;
    }
    search_->clear();
    if (editor->field().advanced) {
      advanced_->setChecked(true);
    }
    for (FieldGroup* group : groups_) {
      if (group->isAncestorOf(editor)) {
        group->setOpen(true);
      }
    }
    editor->focusEditor();
    // Once the group that was opened has found its place.
    QTimer::singleShot(0, editor, [this, editor] { scroll_->ensureWidgetVisible(editor, 0, 60); });
    return;
  }
}

void SetupPanel::dragEnterEvent(QDragEnterEvent* event) {
  const auto urls = event->mimeData()->urls();
  if (urls.size() == 1 && urls.front().toLocalFile().endsWith(QStringLiteral(".toml"))) {
    event->acceptProposedAction();
  }
}

void SetupPanel::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  open(event->mimeData()->urls().front().toLocalFile());
}

}  // namespace lockstep::ui
