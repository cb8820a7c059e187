#include "ui/panels/setup/HookForm.h"

#include <QPushButton>
#include <algorithm>

#include "engine/experiment/FieldText.h"
#include "engine/plugin/ResolveHooks.h"
#include "plugins/abi/include/lockstep/comm_hook.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/setup/FieldEditor.h"
#include "ui/panels/setup/FieldGroup.h"
#include "ui/panels/setup/HookCatalog.h"
#include "ui/panels/setup/SetupDraft.h"

namespace lockstep::ui {
namespace {

using experiment::Field;

/// The keys of a hook inside, described as those of the outer one.
Field fieldAt(const char* key, const std::string& prefix) {
  Field field = *experiment::findField(std::string("hook.") + key);
  if (prefix != "hook.") {
    field.key = prefix + key;
    field.initial.clear();
    if (field.label == "Communication hook") {
      field.label = "Hook inside";
      field.help = "The hook that the one above hands its buckets to.";
    }
  }
  return field;
}

}  // namespace

// Note [Levels of hooks]
//
// A hook may hand its buckets to another: [hook], in it [hook.inner], in that [hook.inner.inner].
// Each is a Level, and there are as many as the longest prefix that the text has; the first is
// always there.
//
// Name and library are fields of the level for as long as it stands. What hangs on them, the
// plugin's words and the fields of its parameters, is made anew (describe) when the name or what is
// known of it has changed: with each letter of a name that is typed, so the field in which it is
// typed must not be made anew with it.
HookForm::HookForm(SetupDraft& draft, const HookCatalog& catalog, QWidget* parent)
    : QWidget(parent), draft_(draft), catalog_(catalog) {
  addInner_ = named(new QPushButton(tr("Add a hook inside")), "addInnerHook", {},
                    tr("Writes [hook.inner]: the hook above does its part and leaves the "
                       "communication to this one."));
  removeInner_ = named(new QPushButton(tr("Remove the innermost hook")), "removeInnerHook");
  layout_ = inColumn({inRow({addInner_, removeInner_, Part::rest()})}, 0);
  fill(this, layout_);
  connect(addInner_, &QPushButton::clicked, this, [this] {
    const std::string prefix = levels_.back().prefix + "inner.";
    draft_.edit(prefix, [&](auto& text) { text.set(prefix + "name", "\"allreduce\""); });
  });
  connect(removeInner_, &QPushButton::clicked, this, [this] {
    const std::string prefix = levels_.back().prefix;
    draft_.edit(prefix, [&](auto& text) { text.removeBelow(prefix); });
  });
  refresh();
}

std::string HookForm::hookAt(const std::string& prefix) const {
  const Field field = fieldAt("name", prefix);
  return experiment::typedText(field, draft_.text().value(prefix + "name").value_or(field.initial));
}

const plugin::HookInfo* HookForm::infoAt(const std::string& prefix) const {
  const std::string hook = hookAt(prefix);
  if (prefix == "hook.") {
    // As HookConfig::isOwn, by the text: with a mistake elsewhere there is no parsed hook.
    const auto pairs = draft_.text().pairs();
    // With a parameter or a library the same name means a plugin's hook.
    const bool alone = std::none_of(pairs.begin(), pairs.end(), [](const auto& pair) {
      return pair.first.starts_with("hook.") && pair.first != "hook.name";
    });
    if (alone && (hook == "allreduce" || hook == "noop")) {
      return nullptr;
    }
  }
  return catalog_.find(hook);
}

void HookForm::setName(const std::string& prefix, const std::string& toml) {
  const Field field = fieldAt("name", prefix);
  const bool isDefault =
      toml.empty() || (!field.initial.empty() && experiment::sameValue(field, toml, field.initial));
  draft_.edit(prefix + "name", [&](experiment::ExperimentText& text) {
    // The parameters of one hook mean nothing to another.
    for (const auto& [key, value] : text.pairs()) {
      if (key.starts_with(prefix) && !key.starts_with(prefix + "inner.") &&
          key != prefix + "name") {
        text.remove(key);
      }
    }
    if (isDefault && prefix == "hook.") {
      text.remove(prefix + "name");
    } else {
      text.set(prefix + "name", toml.empty() ? "\"\"" : toml);
    }
  });
}

std::vector<FieldEditor*> HookForm::Level::fields() const {
  std::vector<FieldEditor*> all{name, library};
  all.insert(all.end(), params.begin(), params.end());
  return all;
}

void HookForm::addLevel() {
  Level level;
  level.prefix = levels_.empty() ? "hook." : levels_.back().prefix + "inner.";
  const std::string& prefix = level.prefix;
  level.name = new FieldEditor(fieldAt("name", prefix));
  level.name->edits(draft_, [this, prefix](const std::string& toml) { setName(prefix, toml); });
  level.name->offer(offered_);
  level.library = new FieldEditor(fieldAt("library", prefix));
  level.library->edits(draft_);
  level.box = fill(new QWidget, inColumn({level.name, level.library}, 0),
                   {levels_.empty() ? 0 : 12, 0, 0, 0});
  layout_->insertWidget(static_cast<int>(levels_.size()), level.box);
  levels_.push_back(level);
  describe(levels_.back());
}

void HookForm::describe(Level& level) {
  if (level.told != nullptr) {
    discard(level.told);
  }
  level.params.clear();
  level.hook = hookAt(level.prefix);
  auto* rows = inColumn({}, 0);
  level.told = fill(new QWidget, rows);
  const plugin::HookInfo* info = infoAt(level.prefix);
  level.known = info != nullptr;
  if (info != nullptr) {
    rows->addWidget(wrapped(QStringLiteral("<b>%1</b> %2, %3. %4")
                                .arg(QString::fromStdString(info->name).toHtmlEscaped(),
                                     QString::fromStdString(info->version).toHtmlEscaped(),
                                     QString::fromStdString(info->vendor).toHtmlEscaped(),
                                     QString::fromStdString(info->summary).toHtmlEscaped()),
                            "aboutHook"));
    for (const plugin::HookParam& param : info->params) {
      Field field = plugin::fieldOf(param, level.prefix + param.key);
      if (param.live) {
        field.help += " May change during a run.";
      }
      auto* editor = new FieldEditor(std::move(field));
      editor->edits(draft_);
      rows->addWidget(editor);
      level.params.push_back(editor);
    }
  }
  level.box->layout()->addWidget(level.told);
  if (brief_) {
    for (FieldEditor* editor : level.fields()) {
      editor->setBrief();
    }
  }
}

void HookForm::setBrief() {
  brief_ = true;
  for (FieldEditor* editor : editors()) {
    editor->setBrief();
  }
}

void HookForm::setOffered(const QStringList& hooks) {
  allowed_ = hooks;
  refresh();
}

void HookForm::refresh() {
  std::size_t depth = 1;
  std::string prefix = "hook.inner.";
  for (const auto& [key, value] : draft_.text().pairs()) {
    // Keys come in the order of the file: a deep one may be the first.
    while (key.starts_with(prefix)) {
      ++depth;
      prefix += "inner.";
    }
  }
  while (levels_.size() > depth) {
    discard(levels_.back().box);
    levels_.pop_back();
  }
  while (levels_.size() < depth) {
    addLevel();
  }
  QStringList names = catalog_.hookNames();
  if (allowed_) {
    // The engine's own hooks are of no plugin, and are always offered.
    names.removeIf([this](const QString& name) {
      return catalog_.find(name.toStdString()) != nullptr && !allowed_->contains(name);
    });
  }
  for (Level& level : levels_) {
    const bool known = infoAt(level.prefix) != nullptr;
    if (hookAt(level.prefix) != level.hook || known != level.known) {
      describe(level);
    }
    if (names != offered_) {
      level.name->offer(names);
    }
    for (FieldEditor* editor : level.fields()) {
      editor->showFrom(draft_);
    }
  }
  offered_ = names;
  filter(needle_, advanced_);
  const plugin::HookInfo* innermost = infoAt(levels_.back().prefix);
  addInner_->setVisible(innermost != nullptr && (innermost->caps & LOCKSTEP_CAP_INNER) != 0);
  removeInner_->setVisible(levels_.size() > 1);
}

std::vector<FieldEditor*> HookForm::editors() const {
  std::vector<FieldEditor*> all;
  for (const Level& level : levels_) {
    const auto fields = level.fields();
    all.insert(all.end(), fields.begin(), fields.end());
  }
  return all;
}

int HookForm::filter(const QString& needle, bool advanced) {
  needle_ = needle;
  advanced_ = advanced;
  int shown = 0;
  for (Level& level : levels_) {
    for (FieldEditor* editor : level.fields()) {
      const bool wanted = editor->wanted(draft_, needle, advanced);
      editor->setVisible(wanted);
      shown += wanted ? 1 : 0;
    }
  }
  return shown;
}

}  // namespace lockstep::ui
