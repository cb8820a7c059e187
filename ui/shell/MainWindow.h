#pragma once

#include <QMainWindow>
#include <QString>
#include <vector>

#include "ui/shell/Commands.h"
#include "ui/shell/CurrentExperiment.h"
#include "ui/shell/CurrentRun.h"
#include "ui/shell/ExperimentCatalog.h"
#include "ui/shell/Frame.h"
#include "ui/shell/KeyBindings.h"
#include "ui/shell/Launcher.h"
#include "ui/shell/Programs.h"
#include "ui/shell/RunController.h"
#include "ui/shell/Settings.h"

namespace lockstep::ui {

class Appearance;
class CommandPalette;
class LookFor;
class RunBar;
class TraceImport;

/// Where the studio finds things. Empty: the usual places.
struct StudioPaths {
  QString experiments;  ///< folder of experiment files
  QString runs;         ///< folder of run files, made when the first run starts
  QString experiment;   ///< the file that the start page offers first
  QString programs;     ///< folder of `lockstep` and `lockstep-rank`
};

/// The studio's window: the start page or the views of a run in the middle, docks around them, one
/// run open at a time. It starts runs and watches their files; it takes no part in them, so that
/// closing or killing it leaves every run alone. The window makes its parts and gives them their
/// commands; what they do stands in each. [ui-thread]
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  MainWindow(const StudioPaths& paths, Appearance& appearance);
  ~MainWindow() override;

  /// Opens a run file, live or not, on the view that was shown last.
  void openRun(const QString& path) { run_.open(path); }
  /// Opens the first of them, and sets the others, if any, against it in Compare.
  void openRuns(const QStringList& paths) { run_.openAll(paths); }
  /// Shows an experiment file in Setup, starts it, and opens its run as soon as that exists; does
  /// nothing where the user would rather keep what stands in Setup.
  void runExperiment(const QString& path) { experiment_.run(path); }
  /// Opens the run that was open when the studio was closed, as it was shown then; does nothing
  /// when there is none, its file is gone or the user does not want it (unless `always`).
  void restoreSession(bool always = false) { run_.restore(always); }

  [[nodiscard]] RunSession* session() const { return run_.session(); }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  // Who listens to whom.
  void wireRuns();
  void wireExperiment();
  void wireForecasts();
  void wireFiles();
  void wireView();
  void wireMenus();
  void wireBuild();

  void runFirst();
  void chooseRunFile();
  void setLayout(const QString& name);
  void find();
  void showPalette();
  void showAbout();
  void takePrograms();

  // What is shown of how things stand.
  void refresh();
  void refreshTitle();
  void refreshIteration();
  void refreshMachine();
  void refreshTheme();

  Appearance& appearance_;
  Settings settings_;
  BuildWatch build_;
  RunController controller_;
  std::vector<ExperimentEntry> experiments_;
  Frame frame_;
  Commands commands_;
  KeyBindings keys_;
  RunBar* bar_;
  CurrentRun run_;
  Launcher launcher_;
  CurrentExperiment experiment_;
  TraceImport* import_;
  LookFor* lookFor_;
  CommandPalette* palette_ = nullptr;
};

}  // namespace lockstep::ui
