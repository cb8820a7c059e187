#pragma once

#include <QActionGroup>
#include <QList>
#include <vector>

#include "ui/shell/KeySheet.h"

class QAction;
class QMainWindow;
class QMenu;

namespace lockstep::ui {

struct Programs;
class RunSession;
class Stages;

/// Every command of the window, each once: menus, toolbar and key sheet show these same
/// actions. The parent owns them. [ui-thread]
struct Commands {
  /// `stages` has all its views already; `listOfRuns` are the commands of that panel.
  Commands(QWidget* parent, const Stages& stages, const QList<QAction*>& listOfRuns);

  QAction* open;
  QAction* reopen;
  QAction* importFiles;
  QAction* importFolder;
  QAction* exportRun;
  QAction* exportPicture;
  QAction* exportReport;
  QAction* savePicture;
  QAction* saveTable;
  QAction* quit;

  QAction* run;
  QAction* record;
  QAction* stop;
  QAction* repeat;
  QAction* runAgain;
  QAction* editCopy;

  QAction* undo;
  QAction* redo;
  QAction* copyJson;
  QAction* find;

  QAction* startPage;
  QList<QAction*> views;  ///< one a stage, in their order; data() is its name
  QAction* findings;
  QAction* lookFor;
  QAction* verdict;  ///< checked: in front of the views
  QAction* fit;
  QActionGroup* themes;   ///< its actions hold a ThemeChoice
  QActionGroup* layouts;  ///< its actions hold a layout's name
  QAction* resetLayout;
  QActionGroup* scales;   ///< its actions hold percents
  QAction* restoreSession;

  QAction* palette;
  QAction* help;
  QAction* glossary;
  QAction* keys;
  QAction* changeKeys;
  QAction* tour;
  QAction* about;

  // Of the timeline, with its own keys.
  QAction* follow = nullptr;
  QAction* previousIteration = nullptr;
  QAction* nextIteration = nullptr;
  QList<QAction*> ofRuns;
  std::vector<KeySheet::Group> ofViews;  ///< the actions of each stage that has any

  /// Fills the menu bar; `docks` are the actions that show and hide docks. Returns the menu
  /// of recent runs, which is filled when it opens.
  QMenu* fillMenus(QMainWindow& window, const QList<QAction*>& docks) const;

  /// What of the window says which commands can be given.
  struct Situation {
    const Programs& programs;
    RunSession* session;  ///< null: no run is open
    bool comesUp;         ///< a run that was started here
    bool anyRecentRun;
  };
  /// Enables what can be given now; the others say why they cannot.
  void refresh(const Situation& now) const;

  /// Every action, for the key sheet, the key editor and the command palette.
  [[nodiscard]] std::vector<KeySheet::Group> groups() const;
};

}  // namespace lockstep::ui
