#include "ui/shell/InspectorOpening.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QEvent>

#include "ui/model/ViewState.h"
#include "ui/shell/Settings.h"

namespace lockstep::ui {

InspectorOpening::InspectorOpening(QDockWidget* dock, Settings& settings)
    : QObject(dock), dock_(dock), settings_(settings) {
  soon_.setSingleShot(true);
  connect(&soon_, &QTimer::timeout, dock_, [this] {
    if (state_ != nullptr && state_->selection()) {
      dock_->show();
    }
  });
  connect(dock_->toggleViewAction(), &QAction::triggered, this, [this](bool shown) {
    if (shown) {
      settings_.setInspectorOpens(true);
    }
  });
  dock_->installEventFilter(this);
}

void InspectorOpening::follow(ViewState* state) {
  if (state_ != nullptr) {
    disconnect(state_, nullptr, this, nullptr);
  }
  soon_.stop();
  state_ = state;
  if (state == nullptr) {
    return;
  }
  connect(state, &ViewState::selectionChanged, this, [this] {
    if (dock_->isHidden() && settings_.inspectorOpens() && state_->selection()) {
      // The stage becomes narrower, and the second click of two has to meet what the first did.
      soon_.start(QApplication::doubleClickInterval());
    }
  });
}

bool InspectorOpening::eventFilter(QObject* watched, QEvent* event) {
  // Closing is by hand alone: what the studio hides, it hides without.
  if (event->type() == QEvent::Close && !dock_->window()->isHidden()) {
    settings_.setInspectorOpens(false);
  }
  return QObject::eventFilter(watched, event);
}

}  // namespace lockstep::ui
