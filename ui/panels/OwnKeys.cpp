#include "ui/panels/OwnKeys.h"

#include <QAbstractButton>
#include <QAbstractSlider>
#include <QComboBox>
#include <QKeyEvent>

namespace lockstep::ui {
namespace {

bool isArrow(int key) {
  return key == Qt::Key_Left || key == Qt::Key_Right || key == Qt::Key_Up || key == Qt::Key_Down;
}

bool isJump(int key) {
  return key == Qt::Key_Home || key == Qt::Key_End || key == Qt::Key_PageUp ||
         key == Qt::Key_PageDown;
}

bool understands(const QObject* control, const QKeyEvent& event) {
  const auto others = event.modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier);
  const int key = event.key();
  if (others != Qt::NoModifier || key == Qt::Key_Escape) {
    return false;
  }
  if (qobject_cast<const QAbstractSlider*>(control) != nullptr) {
    return isArrow(key) || isJump(key);
  }
  if (qobject_cast<const QAbstractButton*>(control) != nullptr) {
    return isArrow(key) || key == Qt::Key_Space || key == Qt::Key_Select;
  }
  return true;  // a combo box opens at some keys and finds its entries by letters
}

class OwnKeys : public QObject {
 public:
  using QObject::QObject;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::ShortcutOverride &&
        understands(watched, *static_cast<QKeyEvent*>(event))) {
      event->accept();
      return true;
    }
    return QObject::eventFilter(watched, event);
  }
};

}  // namespace

void keepOwnKeys(QWidget* control) {
  control->installEventFilter(new OwnKeys(control));
}

}  // namespace lockstep::ui
