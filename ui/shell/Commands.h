#pragma once

#include <QActionGroup>
#include <QList>
#include <vector>

#include "ui/shell/KeySheet.h"

class QAction;
class QMainWindow;
class QMenu;

namespace lockstep::ui {

class TimelineView;

/// Every command of the window, each once: menus, toolbar and key sheet show these same
/// actions. The parent owns them. [ui-thread]
struct Commands {
  Commands(QWidget* parent, const TimelineView& timeline);

  QAction* open;
  QAction* reopen;
  QAction* exportPicture;
  QAction* quit;

  QAction* run;
  QAction* stop;
  QAction* repeat;

  QAction* undo;
  QAction* redo;
  QAction* copyJson;

  QAction* startPage;
  QAction* timeline;
  QAction* fit;
  QActionGroup* themes;  ///< its actions hold a ThemeChoice

  QAction* keys;
  QAction* about;

  // Of the timeline, with its own keys.
  QAction* follow = nullptr;
  QAction* previousIteration = nullptr;
  QAction* nextIteration = nullptr;
  QList<QAction*> ofTimeline;

  /// Fills the menu bar; `docks` are the actions that show and hide docks. Returns the menu
  /// of recent runs, which is filled when it opens.
  QMenu* fillMenus(QMainWindow& window, const QList<QAction*>& docks) const;

  [[nodiscard]] std::vector<KeySheet::Group> groups() const;
};

}  // namespace lockstep::ui
