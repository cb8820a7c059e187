#include "ui/panels/setup/SweepEditor.h"

#include <QMenu>
#include <algorithm>

#include "engine/experiment/FieldText.h"
#include "engine/experiment/Schema.h"
#include "engine/plugin/ResolveHooks.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/setup/FieldEditor.h"
#include "ui/panels/setup/FieldGroup.h"
#include "ui/panels/setup/HookCatalog.h"
#include "ui/panels/setup/SetupDraft.h"

namespace lockstep::ui {
namespace {

using experiment::Field;
using experiment::FieldType;

constexpr std::string_view kSweep = "sweep.";

bool isList(const Field& field) {
  return field.type == FieldType::kIntegerList || field.type == FieldType::kRealList ||
         field.type == FieldType::kTextList;
}

/// The field of a key; a hook's parameter is what its plugin says, or else a number.
Field fieldOf(const std::string& key, const HookCatalog& catalog) {
  if (const Field* known = experiment::findField(key)) {
    return *known;
  }
  const std::string leaf = key.substr(key.rfind('.') + 1);
  for (const plugin::HookInfo& hook : catalog.answer().chosen) {
    for (const plugin::HookParam& param : hook.params) {
      if (param.key == leaf) {
        return plugin::fieldOf(param, key);
      }
    }
  }
  Field field;
  field.key = key;
  // Of a plugin that is still asked, or that does not have it. Looked up anew at each key typed.
  field.type = leaf == "name" || leaf == "library" ? FieldType::kText : FieldType::kReal;
  return field;
}

/// "1, 5" as [1, 5]. A value of a key that is a list is a list itself, written as TOML: "[1, 2],
/// [3]" as [[1, 2], [3]]; what is not, or not yet, becomes a text that the parser refuses.
std::string tomlOf(const Field& field, const QString& typed) {
  if (isList(field)) {
    const QString wrapped = '[' + typed + ']';
    const bool whole = !experiment::listElements(('[' + wrapped + ']').toStdString()).empty() ||
                       typed.trimmed().isEmpty();
    return whole ? wrapped.toStdString() : experiment::tomlText(field, typed.toStdString());
  }
  QStringList values;
  for (const QString& part : typed.split(',')) {
    if (!part.trimmed().isEmpty()) {
      values << QString::fromStdString(experiment::tomlText(field, part.trimmed().toStdString()));
    }
  }
  return ('[' + values.join(QStringLiteral(", ")) + ']').toStdString();
}

QString shownText(const Field& field, const std::string& toml) {
  if (isList(field)) {
    QString text = QString::fromStdString(toml).trimmed();
    return text.startsWith('[') ? text.mid(1, text.size() - 2) : text;
  }
  QStringList values;
  for (const std::string& element : experiment::listElements(toml)) {
    values << QString::fromStdString(experiment::typedText(field, element));
  }
  return values.isEmpty() && toml != "[]" ? QString::fromStdString(toml)
                                          : values.join(QStringLiteral(", "));
}

}  // namespace

SweepEditor::SweepEditor(SetupDraft& draft, const HookCatalog& catalog, QWidget* parent)
    : QWidget(parent), draft_(draft), catalog_(catalog) {
  about_ = muted({}, "aboutSweep");
  auto* add = toolButton(tr("Vary a key"), tr("Runs the experiment with each of a list of values"),
                         "varyKey");
  add->setPopupMode(QToolButton::InstantPopup);
  menu_ = new QMenu(add);
  connect(menu_, &QMenu::aboutToShow, this, &SweepEditor::fillMenu);
  add->setMenu(menu_);
  layout_ = inColumn({about_, inRow({add, Part::rest()})}, 4);
  fill(this, layout_);
  refresh();
}

void SweepEditor::fillMenu() {
  menu_->clear();
  QMenu* table = nullptr;
  QString title;
  const auto add = [&](const Field& field) {
    const QString key = QString::fromStdString(field.key);
    const QString own = key.section('.', 0, 0);
    if (table == nullptr || own != title) {
      table = menu_->addMenu(own);
      title = own;
    }
    auto* action = table->addAction(
        QStringLiteral("%1  (%2)").arg(QString::fromStdString(field.label), key.section('.', 1)));
    action->setToolTip(QString::fromStdString(field.help));
    action->setEnabled(draft_.applies(field) &&
                       !draft_.text().value(std::string(kSweep) + field.key));
    connect(action, &QAction::triggered, this, [this, made = field.key] { vary(made); });
  };
  for (const Field& field : experiment::schema()) {
    if (field.key.find('.') == std::string::npos || field.key.starts_with(kSweep)) {
      continue;
    }
    add(field);
    // Here, among the keys of its table: a menu is begun where the table changes.
    if (field.key == "hook.library" && !catalog_.answer().chosen.empty()) {
      for (const plugin::HookParam& param : catalog_.answer().chosen.front().params) {
        add(plugin::fieldOf(param, "hook." + param.key));
      }
    }
  }
}

void SweepEditor::vary(const std::string& key) {
  const Field field = fieldOf(key, catalog_);
  // Begins with the one value that the key has now: until another is added the experiment means
  // what it meant.
  const std::string now = draft_.text().value(key).value_or(field.initial);
  draft_.edit("vary " + key, [&](auto& text) {
    text.set(std::string(kSweep) + key, now.empty() ? "[]" : "[" + now + "]");
  });
  // The row is there: the draft has changed, and with it this editor (refresh).
  for (const Axis& axis : axes_) {
    if (axis.key == key) {
      axis.values->setFocus(Qt::OtherFocusReason);
      axis.values->end(false);
    }
  }
}

void SweepEditor::typed(const std::string& key, const QString& text) {
  const std::string toml = tomlOf(fieldOf(key, catalog_), text);
  draft_.edit(std::string(kSweep) + key,
              [&](auto& edited) { edited.set(std::string(kSweep) + key, toml); });
}

void SweepEditor::addBox(const std::string& key) {
  Axis axis;
  axis.key = key;
  const QString name = QString::fromStdString(key);
  const Field field = fieldOf(key, catalog_);
  auto* label = new QLabel(name);
  label->setToolTip(QString::fromStdString(field.help));
  axis.values = new QLineEdit;
  axis.values->setObjectName("axis:" + name);
  axis.values->setAccessibleName(tr("Values of %1").arg(name));
  axis.values->setPlaceholderText(isList(field) ? tr("[1, 2], [3, 4]") : tr("values, with commas"));
  connect(axis.values, &QLineEdit::textEdited, this,
          [this, key](const QString& text) { typed(key, text); });
  auto* remove = toolButton(tr("Remove"), tr("Does not vary %1 any more").arg(name), "");
  remove->setObjectName("removeAxis:" + name);
  remove->setAutoRaise(true);
  connect(remove, &QToolButton::clicked, this, [this, key] {
    draft_.edit("unvary " + key, [&](auto& text) { text.remove(std::string(kSweep) + key); });
  });
  axis.mistake = wrapped({}, "mistake");
  auto* unit = new QLabel(QString::fromStdString(field.unit));
  axis.box = fill(new QWidget,
                  inColumn({inRow({label, {axis.values, 1}, unit, remove}), axis.mistake}, 1));
  layout_->insertWidget(static_cast<int>(axes_.size()) + 1, axis.box);
  axes_.push_back(axis);
}

void SweepEditor::refresh() {
  std::vector<std::string> keys;
  for (const auto& [key, value] : draft_.text().pairs()) {
    if (key.starts_with(kSweep) && key != "sweep.group" && key != "sweep.run") {
      keys.push_back(key.substr(kSweep.size()));
    }
  }
  const bool same = std::ranges::equal(keys, axes_, {}, {}, &Axis::key);
  if (!same) {
    for (const Axis& axis : axes_) {
      layout_->removeWidget(axis.box);
      discard(axis.box);
    }
    axes_.clear();
    for (const std::string& key : keys) {
      addBox(key);
    }
  }
  for (const Axis& axis : axes_) {
    const Field field = fieldOf(axis.key, catalog_);
    const std::string toml = *draft_.text().value(std::string(kSweep) + axis.key);
    // As in FieldEditor::show: what is being typed stays while it means what the draft has.
    const bool asTyped = axis.values->hasFocus() && tomlOf(field, axis.values->text()) == toml;
    if (!asTyped) {
      axis.values->setText(shownText(field, toml));
    }
    const QString wrong = draft_.mistakeOfAxis(axis.key);
    axis.mistake->setText(QStringLiteral("✕ ") + wrong);
    axis.mistake->setVisible(!wrong.isEmpty());
    setInk(axis.mistake, currentPalette().error);
  }
  about_->setText(axes_.empty() ? tr("Nothing is varied: the experiment is one run.")
                  : draft_.parsed().sweep.empty()
                      ? tr("The runs can be told once the mistakes are mended.")
                  : draft_.runCount() == 1
                      ? tr("One run with these values. A value here wins over that of the key "
                           "above.")
                      : tr("%1 runs, one after the other: every combination of these values. A "
                           "value here wins over that of the key above.")
                            .arg(draft_.runCount()));
}

bool SweepEditor::matches(const QString& needle) const {
  return std::any_of(axes_.begin(), axes_.end(),
                     [&](const Axis& axis) { return holdsWords(axis.key, needle); });
}

bool SweepEditor::hasMistake() const {
  return std::ranges::any_of(axes_, [](const Axis& axis) { return !axis.mistake->isHidden(); });
}

}  // namespace lockstep::ui
