#include "ui/panels/setup/SetupForm.h"

#include <QTimer>
#include <map>
#include <set>

#include "engine/experiment/FieldText.h"
#include "engine/experiment/Schema.h"
#include "ui/model/Format.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/setup/FaultList.h"
#include "ui/panels/setup/FieldEditor.h"
#include "ui/panels/setup/FieldGroup.h"
#include "ui/panels/setup/HookForm.h"
#include "ui/panels/setup/SetupDraft.h"
#include "ui/panels/setup/SweepEditor.h"

namespace lockstep::ui {
namespace {

constexpr int kLongestSummary = 28;  // letters

struct GroupTitle {
  const char* table;
  const char* title;
};

// In the order of the form. A table of the schema that is missing here would have no fields.
constexpr GroupTitle kGroups[] = {
    {"", "Experiment"},   {"model", "Model"},     {"data", "Data"},     {"processes", "Processes"},
    {"ddp", "DDP"},       {"hook", "Hook"},       {"faults", "Faults"}, {"link", "Link"},
    {"launch", "Launch"}, {"capture", "Capture"}, {"train", "Train"},   {"optimizer", "Optimizer"},
    {"sweep", "Sweep"}};

std::string tableOf(const experiment::Field& field) {
  const auto dot = field.key.find('.');
  return dot == std::string::npos ? std::string() : field.key.substr(0, dot);
}

}  // namespace

SetupForm::SetupForm(SetupDraft& draft, const HookCatalog& catalog, QWidget* parent)
    : QScrollArea(parent),
      draft_(draft),
      nothingFound_(muted()),
      hooks_(new HookForm(draft, catalog)),
      faults_(new FaultList(draft)),
      sweep_(new SweepEditor(draft, catalog)) {
  setObjectName(QStringLiteral("setupForm"));
  nothingFound_->setAlignment(Qt::AlignCenter);
  auto* rows = inColumn({nothingFound_}, 2);
  const std::map<std::string, std::pair<QWidget*, FieldGroup**>> special{
      {"hook", {hooks_, &hookGroup_}},
      {"faults", {faults_, &faultGroup_}},
      {"sweep", {sweep_, &sweepGroup_}}};
  const std::set<std::string> open{"", "model", "ddp", "hook"};
  for (const auto& [table, title] : kGroups) {
    auto* group = new FieldGroup(tr(title));
    group->setOpen(open.contains(table));
    if (const auto own = special.find(table); own != special.end()) {
      group->add(own->second.first);
      *own->second.second = group;
    } else {
      addFields(group, table);
    }
    groups_.push_back(group);
    rows->addWidget(group);
  }
  rows->addStretch(1);
  setWidget(fill(new QWidget, rows, {0, 0, 4, 0}));
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
}

void SetupForm::addFields(FieldGroup* group, const std::string& table) {
  for (const experiment::Field& field : experiment::schema()) {
    if (tableOf(field) == table) {
      auto* editor = new FieldEditor(field);
      editor->edits(draft_);
      group->add(editor);
      editors_.emplace_back(editor, group);
    }
  }
}

std::vector<std::pair<FieldEditor*, FieldGroup*>> SetupForm::allEditors() const {
  auto all = editors_;
  for (FieldEditor* editor : hooks_->editors()) {
    all.emplace_back(editor, hookGroup_);
  }
  for (FieldEditor* editor : faults_->editors()) {
    all.emplace_back(editor, faultGroup_);
  }
  return all;
}

void SetupForm::offerHooks(const QStringList& hooks) {
  hooks_->setOffered(hooks);
}

FieldEditor* SetupForm::find(const QString& key) const {
  for (const auto& [editor, group] : allEditors()) {
    if (QString::fromStdString(editor->field().key) == key) {
      return editor;
    }
  }
  return nullptr;
}

void SetupForm::bringUp(FieldEditor* editor) {
  for (FieldGroup* group : groups_) {
    if (group->isAncestorOf(editor)) {
      group->setOpen(true);
    }
  }
  editor->focusEditor();
  // Once the group that was opened has found its place.
  QTimer::singleShot(0, editor, [this, editor] { ensureWidgetVisible(editor, 0, 60); });
}

bool SetupForm::shows(const experiment::Mistake& mistake) const {
  // A mistake in a run of the sweep names the key that is varied ("train.seed"). Where its line is
  // that of the sweep, the sweep shows it, and not the field of that key.
  const bool ofSweep = mistake.key.starts_with("sweep.") ||
                       draft_.text().isLineOf("sweep." + mistake.key, mistake.line);
  return find(QString::fromStdString(mistake.key)) != nullptr || (ofSweep && sweep_->hasMistake());
}

void SetupForm::refresh() {
  for (const auto& [editor, group] : editors_) {
    editor->showFrom(draft_);
  }
  hooks_->refresh();
  faults_->refresh();
  sweep_->refresh();
  widget()->setEnabled(draft_.text().readable());
  summarize();
}

void SetupForm::filter(const QString& needle, bool advanced) {
  const bool searching = !needle.isEmpty();
  std::map<FieldGroup*, int> shown;
  for (const auto& [editor, group] : editors_) {
    const experiment::Field& field = editor->field();
    const bool relevant = draft_.applies(field) || draft_.text().value(field.key).has_value();
    const bool wanted = relevant && editor->wanted(draft_, needle, advanced);
    editor->setVisible(wanted);
    shown[group] += wanted ? 1 : 0;
  }
  shown[hookGroup_] = hooks_->filter(needle, advanced);
  shown[faultGroup_] = searching ? faults_->filter(needle) : 1;
  shown[sweepGroup_] = !searching || sweep_->matches(needle) ? 1 : 0;
  int all = 0;
  for (FieldGroup* group : groups_) {
    // While searching a group is open by force, and as the user left it afterwards.
    group->setVisible(shown[group] > 0 || !searching);
    group->setForcedOpen(searching && shown[group] > 0);
    all += shown[group];
  }
  nothingFound_->setText(tr("No key matches \"%1\".").arg(needle));
  nothingFound_->setVisible(searching && all == 0);
}

void SetupForm::focusFirst() {
  FieldEditor* first = nullptr;
  for (const auto& [editor, group] : allEditors()) {
    const auto top = [this](const FieldEditor* of) { return of->mapTo(widget(), QPoint()).y(); };
    if (editor->isVisible() && (first == nullptr || top(editor) < top(first))) {
      first = editor;
    }
  }
  if (first != nullptr) {
    bringUp(first);
  }
}

// What a group says of itself while it is closed.
void SetupForm::summarize() {
  std::map<FieldGroup*, int> wrong;
  std::map<FieldGroup*, QStringList> values;
  for (const auto& [editor, group] : allEditors()) {
    wrong[group] += editor->mistake().isEmpty() ? 0 : 1;
    const auto value = draft_.text().value(editor->field().key);
    // Faults are a list, each with keys of its own: they are counted instead, below.
    if (value && group != faultGroup_) {
      values[group] << QString::fromStdString(experiment::typedText(editor->field(), *value));
    }
  }
  for (FieldGroup* group : groups_) {
    const QString all = values[group].join(QStringLiteral(", "));
    QString text = values[group].isEmpty()         ? tr("as by default")
                   : all.size() <= kLongestSummary ? all
                                                   : tr("%1 set").arg(values[group].size());
    if (group == faultGroup_) {
      const auto faults = draft_.text().faultCount();
      text = faults == 0 ? tr("none") : QString::number(faults);
    } else if (group == sweepGroup_) {
      const std::size_t runs = draft_.runCount();
      text = sweep_->hasMistake() ? tr("✕ mistake")
             : runs == 1          ? tr("one run")
                                  : tr("%1 runs").arg(runs);
    }
    if (wrong[group] > 0) {
      text = tr("✕ %1").arg(formatCounted(wrong[group], "mistake"));
    }
    group->setSummary(text, wrong[group] > 0 || (group == sweepGroup_ && sweep_->hasMistake()));
  }
}

}  // namespace lockstep::ui
