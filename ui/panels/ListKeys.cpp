#include "ui/panels/ListKeys.h"

#include <QApplication>
#include <QKeyEvent>
#include <QWidget>

namespace lockstep::ui {

bool movedInList(QEvent* event, QWidget* list) {
  if (event->type() != QEvent::KeyPress) {
    return false;
  }
  const int key = static_cast<QKeyEvent*>(event)->key();
  if (key != Qt::Key_Up && key != Qt::Key_Down && key != Qt::Key_PageUp &&
      key != Qt::Key_PageDown) {
    return false;
  }
  QApplication::sendEvent(list, event);
  return true;
}

}  // namespace lockstep::ui
