#include "ui/panels/runs/RunLabelForm.h"

#include <QAction>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <algorithm>
#include <utility>

#include "ui/model/Format.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"

namespace lockstep::ui {

RunLabelForm::RunLabelForm(QWidget* parent)
    : QWidget(parent),
      title_(bold()),
      name_(named(new QLineEdit, "runName", tr("Name of the run"))),
      tags_(named(new QLineEdit, "runTags", tr("Tags of the run, divided by commas"))),
      note_(named(new QLineEdit, "runNote", tr("Note on the run"))) {
  setObjectName("runLabelForm");
  tags_->setPlaceholderText(tr("baseline, to show"));
  auto* keep = named(new QPushButton(tr("Keep")), "runLabelKeep", {},
                     tr("Written beside the run, as RUN.lockstep.label.json"));
  auto* leave = new QPushButton(tr("Cancel"));
  auto* lines = new QGridLayout;
  lines->setContentsMargins(0, 0, 0, 0);
  const auto line = [&](const QString& text, QLineEdit* edit) {
    auto* label = new QLabel(text);
    label->setBuddy(edit);
    lines->addWidget(label, lines->rowCount(), 0);
    lines->addWidget(edit, lines->rowCount() - 1, 1);
    connect(edit, &QLineEdit::returnPressed, this, &RunLabelForm::save);
  };
  line(tr("Name"), name_);
  line(tr("Tags"), tags_);
  line(tr("Note"), note_);
  fill(this, inColumn({title_, lines, inRow({Part::rest(), keep, leave})}, 4), {0, 4, 0, 0});
  connect(keep, &QPushButton::clicked, this, &RunLabelForm::save);
  connect(leave, &QPushButton::clicked, this, &RunLabelForm::dismiss);
  auto* escape = new QAction(this);
  escape->setShortcut(Qt::Key_Escape);
  escape->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  addAction(escape);
  connect(escape, &QAction::triggered, this, &RunLabelForm::dismiss);
  hide();
}

void RunLabelForm::edit(std::vector<RunEntry> runs, Field field) {
  runs_ = std::move(runs);
  if (runs_.empty()) {
    dismiss();
    return;
  }
  const RunEntry& first = runs_.front();
  common_ = first.label.tags;
  for (const RunEntry& run : runs_) {
    common_.removeIf([&run](const QString& tag) { return !run.label.tags.contains(tag); });
  }
  const bool one = runs_.size() == 1;
  title_->setText(one ? first.shownName()
                      : tr("Tags of %1").arg(formatCounted(runs_.size(), "run")));
  name_->setText(one ? first.shownName() : QString());
  name_->setPlaceholderText(one ? first.name : QString());
  note_->setText(one ? first.label.note : QString());
  tags_->setText(common_.join(QStringLiteral(", ")));
  name_->setEnabled(one);
  note_->setEnabled(one);
  show();
  QLineEdit* line = field == Field::kName && one   ? name_
                    : field == Field::kNote && one ? note_
                                                   : tags_;
  line->setFocus(Qt::ShortcutFocusReason);
  line->selectAll();
}

// Of several runs each keeps the tags that it had alone.
RunLabel RunLabelForm::labelFor(const RunEntry& run) const {
  RunLabel label = run.label;
  label.tags.removeIf([this](const QString& tag) { return common_.contains(tag); });
  label.tags = tagsOf((label.tags << tags_->text()).join(','));
  if (runs_.size() == 1) {
    const QString name = name_->text().simplified();
    label.name = name == run.name ? QString() : name;
    label.note = note_->text().trimmed();
  }
  return label;
}

void RunLabelForm::save() {
  for (const RunEntry& run : runs_) {
    if (const RunLabel label = labelFor(run); label != run.label) {
      emit saved(run.path, label);
    }
  }
  dismiss();
}

void RunLabelForm::dismiss() {
  runs_.clear();
  hide();
  emit closed();
}

}  // namespace lockstep::ui
