#include "ui/shell/DockButtons.h"

#include <QCoreApplication>
#include <QDockWidget>
#include <QHBoxLayout>

#include "ui/panels/Labels.h"
#include "ui/panels/Spacing.h"

namespace lockstep::ui {

DockButtons::DockButtons(const QList<QDockWidget*>& docks, QWidget* parent)
    : QWidget(parent), docks_(docks) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, kSpace, 0);
  row->setSpacing(kHalfSpace);
  for (QDockWidget* dock : docks_) {
    add(dock);
  }
}

void DockButtons::add(QDockWidget* dock) {
  auto* button = toolButton(
      dock->windowTitle(),
      QCoreApplication::translate("DockButtons", "Shows what the run has here, or closes it"),
      qPrintable(dock->objectName() + QStringLiteral("Button")));
  button->setCheckable(true);
  button->setAutoRaise(true);
  button->setChecked(dock->isVisible());
  layout()->addWidget(button);
  connect(dock, &QDockWidget::windowTitleChanged, button, &QToolButton::setText);
  // In front of those that share its place, or alone.
  connect(dock, &QDockWidget::visibilityChanged, button, &QToolButton::setChecked);
  connect(button, &QToolButton::clicked, dock, [this, dock](bool show) {
    if (show) {
      dock->show();
      dock->raise();
      return;
    }
    for (QDockWidget* each : docks_) {
      if (!each->isFloating()) {
        each->hide();
      }
    }
  });
}

}  // namespace lockstep::ui
