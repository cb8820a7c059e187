#include "ui/shell/TableInSight.h"

#include <QDockWidget>
#include <QMainWindow>

#include "ui/shell/Frame.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

// A dock behind another one's tab counts as visible, and nothing of it is seen.
bool isSeen(const TableView& table) {
  return table.isVisible() && !table.visibleRegion().isEmpty();
}

TableView* firstWithRows(const QWidget* place) {
  for (TableView* table : place->findChildren<TableView*>()) {
    if (isSeen(*table) && table->model()->rowCount() > 0) {
      return table;
    }
  }
  return nullptr;
}

}  // namespace

TableView* tableInSight(const Frame& frame) {
  for (QWidget* at = frame.window.focusWidget(); at != nullptr; at = at->parentWidget()) {
    if (auto* table = qobject_cast<TableView*>(at); table != nullptr && isSeen(*table)) {
      return table;
    }
  }
  if (TableView* table = firstWithRows(frame.stages); table != nullptr) {
    return table;
  }
  for (const QDockWidget* dock : frame.docks.all()) {
    if (TableView* table = firstWithRows(dock); table != nullptr) {
      return table;
    }
  }
  return nullptr;
}

}  // namespace lockstep::ui
