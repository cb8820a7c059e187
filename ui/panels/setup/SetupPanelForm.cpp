#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTabWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <set>

#include "engine/experiment/FieldText.h"
#include "engine/experiment/Schema.h"
#include "ui/model/Format.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/setup/BucketPreview.h"
#include "ui/panels/setup/FaultList.h"
#include "ui/panels/setup/FieldEditor.h"
#include "ui/panels/setup/FieldGroup.h"
#include "ui/panels/setup/HookForm.h"
#include "ui/panels/setup/RunQueueList.h"
#include "ui/panels/setup/SetupPanel.h"
#include "ui/panels/setup/SweepEditor.h"

namespace lockstep::ui {
namespace {

struct GroupTitle {
  const char* table;
  const char* title;
};

// Every table of the schema is in one of them; a new one has its own name.
constexpr GroupTitle kGroups[] = {{"", "Experiment"},
                                  {"model", "Model"},
                                  {"data", "Data"},
                                  {"processes", "Processes"},
                                  {"ddp", "DDP"},
                                  {"hook", "Hook"},
                                  {"faults", "Faults"},
                                  {"link", "Link"},
                                  {"launch", "Launch"},
                                  {"capture", "Capture"},
                                  {"train", "Train"},
                                  {"optimizer", "Optimizer"},
                                  {"sweep", "Sweep"}};

std::string tableOf(const experiment::Field& field) {
  const auto dot = field.key.find('.');
  return dot == std::string::npos ? std::string() : field.key.substr(0, dot);
}

void colour(QLabel* label, const QColor& colour) {
  QPalette palette = label->palette();
  palette.setColor(QPalette::WindowText, colour);
  label->setPalette(palette);
}

}  // namespace

void SetupPanel::makeTop() {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->setSpacing(4);
  note_ = new QLabel;
  note_->setObjectName(QStringLiteral("setupNote"));
  note_->setWordWrap(true);
  note_->setForegroundRole(QPalette::PlaceholderText);
  note_->hide();
  layout->addWidget(note_);
  title_ = new QLabel;
  title_->setObjectName(QStringLiteral("setupTitle"));
  title_->setMinimumWidth(0);
  QFont bold = title_->font();
  bold.setBold(true);
  title_->setFont(bold);
  layout->addWidget(title_);

  auto* files = new QHBoxLayout;
  files->setSpacing(2);
  const auto add = [&](const QString& text, const QString& tip, const char* name, auto slot) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setToolTip(tip);
    button->setObjectName(QString::fromLatin1(name));
    button->setAutoRaise(true);
    connect(button, &QToolButton::clicked, this, slot);
    files->addWidget(button);
    return button;
  };
  add(tr("New"), tr("Starts a new experiment"), "setupNew", &SetupPanel::newExperiment);
  add(tr("Open…"), tr("Opens an experiment file (*.toml); dropping one here does the same"),
      "setupOpen", &SetupPanel::chooseFile);
  saveButton_ = add(tr("Save"), tr("Writes the file that lockstep run takes"), "setupSave",
                    [this] { save(); });
  auto* menu = new QMenu(saveButton_);
  menu->addAction(tr("Save as…"), this, [this] { saveAs(); });
  saveButton_->setMenu(menu);
  saveButton_->setPopupMode(QToolButton::MenuButtonPopup);
  files->addStretch(1);
  undo_ =
      add(tr("Undo"), tr("Takes the last change of the form back"), "setupUndo", &SetupPanel::undo);
  redo_ = add(tr("Redo"), tr("Makes the change again"), "setupRedo", &SetupPanel::redo);
  layout->addLayout(files);

  auto* row = new QHBoxLayout;
  search_ = new QLineEdit;
  search_->setObjectName(QStringLiteral("setupSearch"));
  search_->setPlaceholderText(tr("Filter keys, as in \"bucket cap\""));
  search_->setClearButtonEnabled(true);
  search_->setAccessibleName(tr("Filter keys"));
  advanced_ = new QCheckBox(tr("Advanced"));
  advanced_->setObjectName(QStringLiteral("setupAdvanced"));
  advanced_->setToolTip(tr("Shows keys that are seldom needed, too"));
  connect(search_, &QLineEdit::textChanged, this, &SetupPanel::filter);
  connect(advanced_, &QCheckBox::toggled, this, &SetupPanel::filter);
  row->addWidget(search_, 1);
  row->addWidget(advanced_);
  layout->addLayout(row);

  others_ = new QLabel;
  others_->setObjectName(QStringLiteral("otherMistakes"));
  others_->setWordWrap(true);
  others_->setTextFormat(Qt::RichText);
  connect(others_, &QLabel::linkActivated, this, [this](const QString& key) {
    draft_.edit("remove " + key.toStdString(), [&](auto& text) { text.remove(key.toStdString()); });
  });
  layout->addWidget(others_);
}

FieldGroup* SetupPanel::addGroup(const QString& title) {
  auto* group = new FieldGroup(title);
  form_->layout()->addWidget(group);
  groups_.push_back(group);
  return group;
}

void SetupPanel::makeGroups() {
  form_ = new QWidget;
  auto* rows = new QVBoxLayout(form_);
  rows->setContentsMargins(0, 0, 4, 0);
  rows->setSpacing(2);
  nothingFound_ = new QLabel;
  nothingFound_->setWordWrap(true);
  nothingFound_->setAlignment(Qt::AlignCenter);
  nothingFound_->setForegroundRole(QPalette::PlaceholderText);
  rows->addWidget(nothingFound_);
  const std::set<std::string> open{"", "model", "ddp", "hook"};
  for (const auto& [table, title] : kGroups) {
    FieldGroup* group = addGroup(tr(title));
    group->setOpen(open.contains(table));
    if (std::string_view(table) == "hook") {
      hookGroup_ = group;
      hookForm_ = new HookForm(draft_, catalog_);
      group->add(hookForm_);
      continue;
    }
    if (std::string_view(table) == "sweep") {
      sweepGroup_ = group;
      sweepEditor_ = new SweepEditor(draft_, catalog_);
      group->add(sweepEditor_);
      continue;
    }
    if (std::string_view(table) == "faults") {
      faultGroup_ = group;
      faultList_ = new FaultList(draft_);
      group->add(faultList_);
      continue;
    }
    for (const experiment::Field& field : experiment::schema()) {
      if (tableOf(field) != table) {
        continue;
      }
      auto* editor = new FieldEditor(field);
      connect(editor, &FieldEditor::edited, this,
              [this, &field](const QString& toml) { draft_.setKey(field, toml.toStdString()); });
      connect(editor, &FieldEditor::resetAsked, this, [this, &field] { draft_.setKey(field, ""); });
      connect(editor, &FieldEditor::undoAsked, &draft_, &SetupDraft::undoOrRedo);
      group->add(editor);
      editors_.emplace_back(editor, group);
    }
  }
  rows->addStretch(1);
  scroll_ = new QScrollArea;
  scroll_->setObjectName(QStringLiteral("setupForm"));
  scroll_->setWidget(form_);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
}

void SetupPanel::makeBottom() {
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
  splitter->addWidget(scroll_);
  splitter->addWidget(tabs_);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 1);
  splitter->setCollapsible(0, false);
  auto* all = static_cast<QVBoxLayout*>(layout());
  all->addWidget(splitter, 1);

  run_ = new QPushButton(tr("Run"));
  run_->setObjectName(QStringLiteral("setupRun"));
  run_->setDefault(true);
  connect(run_, &QPushButton::clicked, this, &SetupPanel::run);
  queueButton_ = new QPushButton(tr("Queue"));
  queueButton_->setObjectName(QStringLiteral("setupQueue"));
  queueButton_->setToolTip(tr("Runs it when the current run and those before it have ended"));
  connect(queueButton_, &QPushButton::clicked, this, &SetupPanel::queueRun);
  reason_ = new QLabel;
  reason_->setObjectName(QStringLiteral("setupReason"));
  reason_->setWordWrap(true);
  reason_->setTextFormat(Qt::RichText);
  connect(reason_, &QLabel::linkActivated, this, &SetupPanel::showKey);
  auto* row = new QHBoxLayout;
  row->addWidget(run_);
  row->addWidget(queueButton_);
  row->addWidget(reason_, 1);
  all->addLayout(row);
}

std::vector<FieldEditor*> SetupPanel::allEditors() const {
  std::vector<FieldEditor*> all;
  for (const auto& [editor, group] : editors_) {
    all.push_back(editor);
  }
  for (const auto& more : {hookForm_->editors(), faultList_->editors()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

void SetupPanel::refresh() {
  refreshFields();
  ask();
  filter();
  refreshSummaries();
  refreshOthers();
  refreshActions();
}

void SetupPanel::refreshFields() {
  for (const auto& [editor, group] : editors_) {
    const std::string& key = editor->field().key;
    editor->show(draft_.text().value(key));
    editor->setMistake(draft_.mistakeOf(key));
  }
  hookForm_->refresh();
  faultList_->refresh();
  sweepEditor_->refresh();
  form_->setEnabled(draft_.text().readable());
}

void SetupPanel::ask() {
  if (askedText_ != draft_.text().text() || askedPath_ != draft_.path()) {
    askPlugins();
  }
  if (!draft_.parsed().mistakes.empty()) {
    preview_->showReason(tr("The buckets can be told once the mistakes are mended."));
    return;
  }
  describer_.ask(draft_.parsed().experiment);
  preview_->show(draft_.parsed().experiment);
}

void SetupPanel::askPlugins() {
  askedText_ = draft_.text().text();
  askedPath_ = draft_.path();
  catalog_.ask({askedText_, draft_.title().toStdString(), draft_.folder().toStdString(),
                draft_.path().toStdString()});
}

void SetupPanel::filter() {
  const QString needle = search_->text().trimmed();
  const bool searching = !needle.isEmpty();
  std::map<FieldGroup*, int> shown;
  for (const auto& [editor, group] : editors_) {
    const experiment::Field& field = editor->field();
    const bool written = draft_.text().value(field.key).has_value();
    const bool relevant = draft_.applies(field) || written;
    const bool wanted = searching ? editor->matches(needle)
                                  : !field.advanced || advanced_->isChecked() || written ||
                                        !editor->mistake().isEmpty();
    editor->setVisible(relevant && wanted);
    shown[group] += relevant && wanted ? 1 : 0;
  }
  shown[hookGroup_] = hookForm_->filter(needle, advanced_->isChecked());
  shown[faultGroup_] = searching ? faultList_->filter(needle) : 1;
  shown[sweepGroup_] = !searching || sweepEditor_->matches(needle) ? 1 : 0;
  int all = 0;
  for (FieldGroup* group : groups_) {
    group->setVisible(shown[group] > 0 || !searching);
    group->setForcedOpen(searching && shown[group] > 0);
    all += shown[group];
  }
  nothingFound_->setText(tr("No key matches \"%1\".").arg(needle));
  nothingFound_->setVisible(searching && all == 0);
}

void SetupPanel::refreshSummaries() {
  struct Count {
    int written = 0;
    int wrong = 0;
    QStringList values;
  };
  std::map<FieldGroup*, Count> counts;
  const auto add = [&](FieldGroup* group, FieldEditor* editor, bool written) {
    Count& count = counts[group];
    count.written += written ? 1 : 0;
    count.wrong += editor->mistake().isEmpty() ? 0 : 1;
    if (written) {
      count.values << QString::fromStdString(
          experiment::typedText(editor->field(), *draft_.text().value(editor->field().key)));
    }
  };
  for (const auto& [editor, group] : editors_) {
    add(group, editor, draft_.text().value(editor->field().key).has_value());
  }
  for (FieldEditor* editor : hookForm_->editors()) {
    add(hookGroup_, editor, draft_.text().value(editor->field().key).has_value());
  }
  for (FieldEditor* editor : faultList_->editors()) {
    add(faultGroup_, editor, false);
  }
  for (FieldGroup* group : groups_) {
    const Count& count = counts[group];
    QString text = count.written == 0 ? tr("as by default") : tr("%1 set").arg(count.written);
    if (group == sweepGroup_) {
      text = runCount() == 1 ? tr("one run") : tr("%1 runs").arg(runCount());
      if (sweepEditor_->hasMistake()) {
        group->setSummary(tr("✕ mistake"), true);
        continue;
      }
    }
    if (group == faultGroup_) {
      const auto faults = draft_.text().faultCount();
      text = faults == 0 ? tr("none") : QString::number(faults);
    } else if (!count.values.isEmpty() && count.values.join(QStringLiteral(", ")).size() <= 28) {
      text = count.values.join(QStringLiteral(", "));
    }
    if (count.wrong > 0) {
      text = tr("✕ %1").arg(formatCounted(count.wrong, "mistake"));
    }
    group->setSummary(text, count.wrong > 0);
  }
}

/// Mistakes that no field can show: unknown keys, what is no TOML.
void SetupPanel::refreshOthers() {
  std::set<std::string> keys;
  for (const FieldEditor* editor : allEditors()) {
    keys.insert(editor->field().key);
  }
  QStringList lines;
  for (const auto& mistake : draft_.mistakes()) {
    const bool ofSweep = mistake.key.starts_with("sweep.") ||
                         draft_.text().isLineOf("sweep." + mistake.key, mistake.line);
    if (keys.contains(mistake.key) || (ofSweep && sweepEditor_->hasMistake())) {
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
  colour(others_, draft_.mistakes().empty() ? currentPalette().warning : currentPalette().error);
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
  const bool sweep = runCount() > 1;  // which goes through the queue, and so may wait
  const QString reason = wrong.isEmpty() && !sweep ? blocked_ : wrong;
  run_->setText(sweep ? tr("Run all %1").arg(runCount()) : tr("Run"));
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
  colour(reason_,
         wrong.isEmpty() ? palette().color(QPalette::PlaceholderText) : currentPalette().error);
}

}  // namespace lockstep::ui
