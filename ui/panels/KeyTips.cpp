#include "ui/panels/KeyTips.h"

#include <QAction>
#include <QPointer>
#include <QWidget>

namespace lockstep::ui {
namespace {

/// Keeps the tooltip of its parent, a widget or an action.
class KeyTip : public QObject {
 public:
  explicit KeyTip(QObject* target) : QObject(target) {}

  void show(const QString& tip, const QAction* command) {
    tip_ = tip;
    if (command != command_) {
      if (command_ != nullptr) {
        command_->disconnect(this);
      }
      command_ = command;
      if (command != nullptr) {
        connect(command, &QAction::changed, this, &KeyTip::refresh);
      }
    }
    refresh();
  }

 private:
  void refresh() {
    const QString key = keyText(command_);
    const QString text = key.isEmpty() ? tip_ : QStringLiteral("%1 (%2)").arg(tip_, key);
    if (auto* widget = qobject_cast<QWidget*>(parent())) {
      widget->setToolTip(text);
    } else if (auto* action = qobject_cast<QAction*>(parent())) {
      action->setToolTip(text);  // no endless round: changed() comes only for another text
    }
  }

  QString tip_;
  QPointer<const QAction> command_;
};

KeyTip* tipOf(QObject* target) {
  for (QObject* child : target->children()) {
    if (auto* tip = dynamic_cast<KeyTip*>(child)) {
      return tip;
    }
  }
  return new KeyTip(target);
}

}  // namespace

QString keyText(const QAction* command) {
  return command == nullptr ? QString() : command->shortcut().toString(QKeySequence::NativeText);
}

void setTip(QWidget* widget, const QString& tip, const QAction* command) {
  tipOf(widget)->show(tip, command);
}

void setTip(QAction* command, const QString& tip) {
  tipOf(command)->show(tip, command);
}

}  // namespace lockstep::ui
