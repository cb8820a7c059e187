#include "ui/panels/setup/SetupPanel.h"

#include <QCheckBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <utility>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/LocalFiles.h"
#include "ui/panels/setup/BucketPreview.h"
#include "ui/panels/setup/FieldEditor.h"
#include "ui/panels/setup/RecordedExperiment.h"
#include "ui/panels/setup/RunFiles.h"
#include "ui/panels/setup/RunQueueList.h"
#include "ui/panels/setup/SetupForm.h"

namespace lockstep::ui {

// Note [Who says that a draft is good]
//
// Three judge it, one later than the other, and none of them holds the form:
//
//   the parser       at once, at each change         SetupDraft
//   the plugins      on the pool: hooks and their    HookCatalog ─▶ SetupDraft::addMistakes
//                    parameters, runs of a sweep
//   lockstep-rank    400 ms after the last change:   ModelDescriber ─▶ BucketPreview alone
//                    the shapes of the model
//
// Each change asks the plugins again, and only the answer to the last question counts: an answer is
// always about the draft as it stands. Run waits for it where there is a plugin's hook or more than
// one run (reasonAgainstRun).
SetupPanel::SetupPanel(SetupPaths paths, QWidget* parent)
    : QWidget(parent),
      paths_(std::move(paths)),
      catalog_(paths_.hookscan),
      describer_(paths_.rank, this) {
  setAcceptDrops(true);
  draft_.setShipped(paths_.shipped);
  QWidget* top = makeTop();
  fill(this, inColumn({top, {makeMiddle(), 1}, makeBottom()}, 4), {6, 6, 6, 6});
  connect(&draft_, &SetupDraft::changed, this, &SetupPanel::refresh);
  connect(&catalog_, &HookCatalog::answered, this, [this] {
    draft_.addMistakes(catalog_.answer().swept.mistakes);
    if (std::exchange(runWhenKnown_, false)) {
      run();
    }
  });
  connect(&describer_, &ModelDescriber::changed, this, &SetupPanel::showBuckets);
  refresh();
}

SetupPanel::~SetupPanel() = default;

bool SetupPanel::mayDiscard() {
  if (!draft_.isDirty()) {
    return true;
  }
  // Of a file that is only read no change can be saved in it, nor the mistakes in that change.
  const bool inPlace = draft_.canSaveInPlace();
  QMessageBox box(QMessageBox::Question, tr("Unsaved changes"),
                  inPlace ? tr("Save the changes to %1?").arg(draft_.title())
                  : draft_.isShipped(draft_.path())
                      ? tr("%1 comes with Lockstep and stays as it is. Save the changes as a file "
                           "of your own?")
                            .arg(draft_.title())
                      : tr("Save %1 as a file of your own?").arg(draft_.title()),
                  QMessageBox::Discard | QMessageBox::Cancel, this);
  box.setObjectName(QStringLiteral("setupUnsaved"));
  QPushButton* keep = inPlace ? box.addButton(QMessageBox::Save)
                              : box.addButton(tr("Save as…"), QMessageBox::AcceptRole);
  box.setDefaultButton(keep);
  box.exec();
  return box.clickedButton() == box.button(QMessageBox::Discard) ||
         (box.clickedButton() == keep && save());
}

bool SetupPanel::open(const QString& path) {
  runWhenKnown_ = false;
  if (!mayDiscard()) {
    return false;
  }
  catalog_.forget();  // what it said of this text is not in a draft that begins anew
  const auto opened = draft_.open(path);
  if (!opened.ok()) {
    emit failed(QString::fromStdString(opened.error().message()));
  }
  return opened.ok();
}

bool SetupPanel::editCopy(const std::string& recorded, const QString& run) {
  runWhenKnown_ = false;
  if (!mayDiscard()) {
    return false;
  }
  catalog_.forget();
  draft_.begin(asWritten(recorded, run.toStdString()), tr("Copy of %1").arg(run));
  return true;
}

void SetupPanel::openAndRun(const QString& path) {
  if (open(path)) {
    runSoon();
  }
}

void SetupPanel::runSoon() {
  // A reason that the plugins' answer may take away; of their mistakes run() does nothing.
  runWhenKnown_ = catalog_.isAsking() && !reasonAgainstRun().isEmpty();
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
  form_->offerHooks(hooks);
}

void SetupPanel::newExperiment() {
  runWhenKnown_ = false;
  if (mayDiscard()) {
    catalog_.forget();
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
  return saveTo(draft_.path());
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
  return saveTo(path);
}

bool SetupPanel::saveTo(const QString& path) {
  const auto done = draft_.save(path);
  if (!done.ok()) {
    emit failed(QString::fromStdString(done.error().message()));
    return false;
  }
  emit saved(draft_.path());
  return true;
}

QString SetupPanel::reasonAgainstRun() const {
  return ui::reasonAgainstRun(draft_, catalog_);
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
  catalog_.forget();
  ask();
}

QStringList SetupPanel::filesToRun() {
  return writeRuns(draft_, catalog_, paths_.drafts,
                   [this](const QString& sentence) { emit failed(sentence); });
}

void SetupPanel::run() {
  if (!reasonAgainstRun().isEmpty()) {
    return;
  }
  const QStringList files =
      // What blocks Run for a while does not block the queue, in which a sweep waits.
      blocked_.isEmpty() || draft_.runCount() > 1 ? filesToRun() : QStringList();
  if (draft_.runCount() > 1) {
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
  FieldEditor* editor = form_->find(key);
  if (editor == nullptr) {
    return;
  }
  search_->clear();
  if (editor->field().advanced) {
    advanced_->setChecked(true);
  }
  form_->bringUp(editor);
}

void SetupPanel::dragEnterEvent(QDragEnterEvent* event) {
  if (localFiles(*event->mimeData(), QStringLiteral(".toml")).size() == 1 &&
      event->mimeData()->urls().size() == 1) {
    event->acceptProposedAction();
  }
}

void SetupPanel::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  open(localFiles(*event->mimeData()).front());
}

// --- what it is made of, and what that says

QWidget* SetupPanel::makeTop() {
  note_ = muted({}, "setupNote");
  note_->hide();
  title_ = named(bold(), "setupTitle");
  title_->setMinimumWidth(0);
  const auto button = [&](const QString& text, const QString& tip, const char* name, auto slot) {
    auto* made = toolButton(text, tip, name);
    made->setAutoRaise(true);
    connect(made, &QToolButton::clicked, this, slot);
    return made;
  };
  auto* begin =
      button(tr("New"), tr("Starts a new experiment"), "setupNew", &SetupPanel::newExperiment);
  auto* open =
      button(tr("Open…"), tr("Opens an experiment file (*.toml); dropping one here does the same"),
             "setupOpen", &SetupPanel::chooseFile);
  saveButton_ = button(tr("Save"), tr("Writes the file that lockstep run takes"), "setupSave",
                       [this] { save(); });
  auto* menu = new QMenu(saveButton_);
  menu->addAction(tr("Save as…"), this, [this] { saveAs(); });
  saveButton_->setMenu(menu);
  saveButton_->setPopupMode(QToolButton::MenuButtonPopup);
  undo_ = button(tr("Undo"), tr("Takes the last change of the form back"), "setupUndo",
                 &SetupPanel::undo);
  redo_ = button(tr("Redo"), tr("Makes the change again"), "setupRedo", &SetupPanel::redo);
  search_ = filterLine("setupSearch", tr("Filter keys, as in \"bucket cap\""), tr("Filter keys"));
  search_->setToolTip(tr("Shows the keys that have all of these words; Enter goes to the first"));
  advanced_ = named(new QCheckBox(tr("Advanced")), "setupAdvanced", {},
                    tr("Shows keys that are seldom needed, too"));
  connect(search_, &QLineEdit::textChanged, this, &SetupPanel::filter);
  connect(search_, &QLineEdit::returnPressed, this, [this] { form_->focusFirst(); });
  connect(advanced_, &QCheckBox::toggled, this, &SetupPanel::filter);
  others_ = wrapped({}, "otherMistakes");
  others_->setTextFormat(Qt::RichText);
  connect(others_, &QLabel::linkActivated, this, [this](const QString& key) {
    draft_.edit("remove " + key.toStdString(), [&](auto& text) { text.remove(key.toStdString()); });
  });
  return fill(
      new QWidget,
      inColumn({note_, title_, inRow({begin, open, saveButton_, Part::rest(), undo_, redo_}, 2),
                inRow({{search_, 1}, advanced_}), others_},
               4));
}

QSplitter* SetupPanel::makeMiddle() {
  form_ = new SetupForm(draft_, catalog_);
  preview_ = new BucketPreview(describer_);
  tabs_ = new QTabWidget;
  tabs_->setDocumentMode(true);
  tabs_->addTab(preview_, tr("Bucket preview"));
  tabs_->addTab(new RunQueueList(queue_), tr("Queue"));
  const auto countQueue = [this] {
    const int waiting = queue_.rowCount();
    tabs_->setTabText(1, waiting == 0 ? tr("Queue") : tr("Queue (%1)").arg(waiting));
  };
  connect(&queue_, &QAbstractItemModel::rowsInserted, this, countQueue);
  connect(&queue_, &QAbstractItemModel::rowsRemoved, this, countQueue);
  connect(&queue_, &QAbstractItemModel::modelReset, this, countQueue);
  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(form_);
  splitter->addWidget(tabs_);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 1);
  splitter->setCollapsible(0, false);
  return splitter;
}

QLayout* SetupPanel::makeBottom() {
  run_ = named(new QPushButton(tr("Run")), "setupRun");
  run_->setDefault(true);
  connect(run_, &QPushButton::clicked, this, &SetupPanel::run);
  queueButton_ = named(new QPushButton(tr("Queue")), "setupQueue", {},
                       tr("Runs it when the current run and those before it have ended"));
  connect(queueButton_, &QPushButton::clicked, this, &SetupPanel::queueRun);
  reason_ = wrapped({}, "setupReason");
  reason_->setTextFormat(Qt::RichText);
  connect(reason_, &QLabel::linkActivated, this, &SetupPanel::showKey);
  return inRow({run_, queueButton_, {reason_, 1}});
}

void SetupPanel::refresh() {
  form_->refresh();
  ask();
  filter();
  refreshOthers();
  refreshActions();
}

void SetupPanel::filter() {
  form_->filter(search_->text().trimmed(), advanced_->isChecked());
}

void SetupPanel::ask() {
  catalog_.ask(draft_);
  if (draft_.parsed().mistakes.empty()) {
    describer_.ask(draft_.parsed().experiment);
  }
  showBuckets();
}

// An answer may come when what was asked about has been changed into a mistake.
void SetupPanel::showBuckets() {
  if (draft_.parsed().mistakes.empty()) {
    preview_->show(draft_.parsed().experiment);
  } else {
    preview_->showReason(tr("The buckets can be told once the mistakes are mended."));
  }
}

/// Mistakes that no field can show: unknown keys, what is no TOML.
void SetupPanel::refreshOthers() {
  QStringList lines;
  for (const auto& mistake : draft_.mistakes()) {
    if (form_->shows(mistake)) {
      continue;
    }
    QString line = QStringLiteral("✕ ") + QString::fromStdString(mistake.message()).toHtmlEscaped();
    if (draft_.text().value(mistake.key)) {
      line += QStringLiteral(" <a href=\"%1\">%2</a>")
                  .arg(QString::fromStdString(mistake.key).toHtmlEscaped(), tr("Leave it out"));
    }
    lines << line;
  }
  if (!draft_.text().readable()) {
    lines << tr(
        "The form can be used once the file is TOML: mend it in an editor and open it "
        "again.");
  }
  if (draft_.text().rewritten()) {
    lines << tr(
        "A table written in one line had to be written anew: comments of the file are "
        "gone from this draft (Undo brings them back).");
  }
  others_->setText(lines.join(QStringLiteral("<br>")));
  others_->setVisible(!lines.isEmpty());
  setInk(others_, draft_.mistakes().empty() ? currentPalette().warning : currentPalette().error);
}

void SetupPanel::refreshActions() {
  const bool dirty = draft_.isDirty();
  title_->setText(draft_.title() + (dirty ? QStringLiteral(" •") : QString()));
  title_->setToolTip(draft_.path().isEmpty() ? tr("Not saved yet")
                     : dirty ? tr("%1, with changes that are not saved").arg(draft_.path())
                             : draft_.path());
  emit titleChanged(draft_.title(), dirty);
  saveButton_->setEnabled(draft_.text().readable());
  undo_->setEnabled(draft_.canUndo());
  redo_->setEnabled(draft_.canRedo());
  const QString wrong = reasonAgainstRun();
  const bool sweep = draft_.runCount() > 1;  // which goes through the queue, and so may wait
  const QString reason = wrong.isEmpty() && !sweep ? blocked_ : wrong;
  run_->setText(sweep ? tr("Run all %1").arg(draft_.runCount()) : tr("Run"));
  run_->setEnabled(reason.isEmpty());
  queueButton_->setEnabled(wrong.isEmpty());
  run_->setToolTip(reason.isEmpty()
                       ? (sweep ? tr("Runs all of the sweep, one after the other")
                          : dirty || draft_.path().isEmpty()
                              ? tr("Runs the experiment as it stands here; the file stays as it is")
                              : tr("Runs %1").arg(draft_.path()))
                       : tr("Cannot run: %1").arg(reason));
  QString text = reason.toHtmlEscaped();
  if (!draft_.mistakes().empty() && !draft_.mistakes().front().key.empty()) {
    text +=
        QStringLiteral(" <a href=\"%1\">%2</a>")
            .arg(QString::fromStdString(draft_.mistakes().front().key).toHtmlEscaped(), tr("Show"));
  }
  reason_->setText(text);
  setInk(reason_,
         wrong.isEmpty() ? palette().color(QPalette::PlaceholderText) : currentPalette().error);
}

}  // namespace lockstep::ui
