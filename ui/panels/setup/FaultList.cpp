#include "ui/panels/setup/FaultList.h"

#include <QMenu>
#include <algorithm>
#include <optional>

#include "engine/base/StartingLarge.h"
#include "engine/experiment/FieldText.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/setup/FieldEditor.h"
#include "ui/panels/setup/FieldGroup.h"
#include "ui/panels/setup/SetupDraft.h"

namespace lockstep::ui {
namespace {

using experiment::Field;

std::string leafOf(const Field& field) {
  return field.key.substr(field.key.find('.') + 1);
}

/// What a new fault of a kind needs, so that it is whole.
std::vector<experiment::ExperimentText::Pair> firstKeys(const std::string& kind) {
  std::vector<experiment::ExperimentText::Pair> keys{{"kind", '"' + kind + '"'}, {"rank", "1"}};
  if (kind == "delay") {
    keys.emplace_back("milliseconds", "20");
  } else if (kind == "uneven") {
    keys.emplace_back("samples", "64");
  } else {
    keys.emplace_back("step", "10");
  }
  return keys;
}

}  // namespace

FaultList::FaultList(SetupDraft& draft, QWidget* parent) : QWidget(parent), draft_(draft) {
  none_ = muted(tr("No faults: every rank does as well as it can."));
  auto* add = toolButton(tr("Add a fault"), {}, "addFault");
  add->setPopupMode(QToolButton::InstantPopup);
  auto* menu = new QMenu(add);
  for (const std::string& kind : experiment::findField("faults.kind")->choices) {
    menu->addAction(QString::fromStdString(kind), this, [this, kind] {
      draft_.edit("faults+", [&](auto& text) { text.addFault(firstKeys(kind)); });
    });
  }
  add->setMenu(menu);
  layout_ = inColumn({none_, inRow({add, Part::rest()})}, 4);
  fill(this, layout_);
  refresh();
}

std::string FaultList::kindOf(std::size_t index) const {
  const Field& kind = *experiment::findField("faults.kind");
  for (const auto& [leaf, value] : draft_.text().fault(index)) {
    if (leaf == "kind") {
      return experiment::typedText(kind, value);
    }
  }
  return experiment::typedText(kind, kind.initial);
}

void FaultList::set(std::size_t index, const std::string& leaf, const std::string& toml) {
  draft_.edit("faults." + std::to_string(index) + leaf, [&](experiment::ExperimentText& text) {
    if (toml.empty()) {
      text.removeInFault(index, leaf);
    } else {
      text.setInFault(index, leaf, toml);
    }
    if (leaf != "kind") {
      return;
    }
    // Keys that mean nothing to the new kind go, and what it needs comes.
    const Field& kindField = *experiment::findField("faults.kind");
    const std::string kind =
        experiment::typedText(kindField, toml.empty() ? kindField.initial : toml);
    for (const Field& field : experiment::faultSchema()) {
      if (!experiment::appliesFor(field, kind)) {
        text.removeInFault(index, leafOf(field));
      }
    }
    const auto written = text.fault(index);
    for (const auto& [key, value] : firstKeys(kind)) {
      const bool there = std::any_of(written.begin(), written.end(),
                                     [&](const auto& pair) { return pair.first == key; });
      if (!there) {
        text.setInFault(index, key, value);
      }
    }
  });
}

void FaultList::addBox() {
  const std::size_t index = faults_.size();
  Fault fault;
  fault.title = new QLabel;
  auto* remove = toolButton(tr("Remove"), tr("Takes this fault out of the experiment"), "");
  remove->setObjectName(QStringLiteral("removeFault%1").arg(index));
  remove->setAutoRaise(true);
  connect(remove, &QToolButton::clicked, this,
          [this, index] { draft_.edit("faults-", [&](auto& text) { text.removeFault(index); }); });
  auto* rows = inColumn({inRow({{fault.title, 1}, remove})}, 0);
  fault.box = fill(new QWidget, rows);
  for (const Field& field : experiment::faultSchema()) {
    Field shown = field;
    shown.label = base::startingLarge(shown.label);
    std::replace(shown.label.begin(), shown.label.end(), '_', ' ');
    auto* editor = new FieldEditor(shown);
    const std::string leaf = leafOf(field);
    editor->edits(draft_, [this, index, leaf](const std::string& toml) { set(index, leaf, toml); });
    rows->addWidget(editor);
    fault.fields.push_back(editor);
  }
  layout_->insertWidget(static_cast<int>(index) + 1, fault.box);
  faults_.push_back(std::move(fault));
}

void FaultList::refresh() {
  // A box belongs to a place in the list and not to a fault: where a fault in the middle is
  // removed, the last box goes and the others show what has moved up.
  while (faults_.size() > draft_.text().faultCount()) {
    discard(faults_.back().box);
    faults_.pop_back();
  }
  while (faults_.size() < draft_.text().faultCount()) {
    addBox();
  }
  none_->setVisible(faults_.empty());
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const std::string kind = kindOf(i);
    faults_[i].title->setText(
        QStringLiteral("<b>%1 %2</b>").arg(tr("Fault")).arg(static_cast<int>(i) + 1));
    const auto written = draft_.text().fault(i);
    for (FieldEditor* editor : faults_[i].fields) {
      const std::string leaf = leafOf(editor->field());
      std::optional<std::string> value;
      for (const auto& [key, toml] : written) {
        if (key == leaf) {
          value = toml;
        }
      }
      editor->show(value);
      editor->setMistake(draft_.mistakeOfFault(i, leaf));
      // A key that means nothing to this kind is shown where the file has it: it is a mistake to be
      // seen.
      editor->setVisible(experiment::appliesFor(editor->field(), kind) || value.has_value());
    }
  }
}

int FaultList::filter(const QString& needle) {
  if (needle.isEmpty()) {
    return static_cast<int>(faults_.size());
  }
  int matching = 0;
  for (const Field& field : experiment::faultSchema()) {
    matching += holdsWords(field.key + ' ' + field.help, needle) ? 1 : 0;
  }
  return matching;
}

std::vector<FieldEditor*> FaultList::editors() const {
  std::vector<FieldEditor*> all;
  for (const Fault& fault : faults_) {
    all.insert(all.end(), fault.fields.begin(), fault.fields.end());
  }
  return all;
}

}  // namespace lockstep::ui
