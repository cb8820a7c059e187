#include "ui/shell/KeyBindings.h"

#include <algorithm>

namespace lockstep::ui {

QString plainText(const QAction* action) {
  QString text = action->text();
  return text.remove('&').remove(QStringLiteral("…"));
}

KeyBindings::KeyBindings(const std::vector<KeySheet::Group>& groups, Settings& settings)
    : groups_(groups), settings_(settings) {
  for (const KeySheet::Group& group : groups_) {
    for (QAction* action : group.actions) {
      // In this order: the user's keys would pass for built-in ones.
      commands_.push_back({action, action->shortcuts()});
      if (const auto keys = settings_.keysOf(idOf(action))) {
        action->setShortcuts(*keys);
      }
    }
  }
}

QString KeyBindings::idOf(const QAction* action) {
  if (!action->objectName().isEmpty()) {
    return action->objectName();
  }
  return plainText(action).simplified().replace(' ', '_').toLower();
}

const KeyBindings::Command* KeyBindings::find(const QAction* action) const {
  const auto at = std::ranges::find(commands_, action, &Command::action);
  return at == commands_.end() ? nullptr : &*at;
}

QList<QKeySequence> KeyBindings::builtIn(const QAction* action) const {
  const Command* command = find(action);
  return command == nullptr ? QList<QKeySequence>() : command->builtIn;
}

bool KeyBindings::isBuiltIn(const QAction* action) const {
  return action->shortcuts() == builtIn(action);
}

void KeyBindings::set(QAction* action, const QList<QKeySequence>& keys) {
  action->setShortcuts(keys);
  if (isBuiltIn(action)) {
    settings_.forgetKeys(idOf(action));
  } else {
    settings_.setKeys(idOf(action), keys);
  }
}

void KeyBindings::reset(QAction* action) { set(action, builtIn(action)); }

// Where two actions with one key can both be heard, Qt calls the key ambiguous and triggers
// neither. A key of the window is heard everywhere, so it meets all; keys of one view meet each
// other; those of two views never do, since one of them alone has the focus.
QAction* KeyBindings::holder(const QKeySequence& key, const QAction* action) const {
  const auto ofWindow = [](const QAction* one) {
    return one->shortcutContext() == Qt::WindowShortcut ||
           one->shortcutContext() == Qt::ApplicationShortcut;
  };
  for (const Command& command : commands_) {
    const bool meet = ofWindow(command.action) || ofWindow(action) ||
                      command.action->parent() == action->parent();
    if (command.action != action && meet && command.action->shortcuts().contains(key)) {
      return command.action;
    }
  }
  return nullptr;
}

}  // namespace lockstep::ui
