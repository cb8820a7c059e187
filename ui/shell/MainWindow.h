#pragma once

#include <QMainWindow>
#include <QString>
#include <memory>
#include <optional>
#include <vector>

#include "engine/trace/RunFile.h"
#include "ui/model/Span.h"
#include "ui/shell/Commands.h"
#include "ui/shell/ExperimentCatalog.h"
#include "ui/shell/JobRequest.h"
#include "ui/shell/OutputFollower.h"
#include "ui/shell/Programs.h"
#include "ui/shell/RunController.h"
#include "ui/shell/Settings.h"

class QComboBox;
class QDockWidget;
class QStackedWidget;

namespace lockstep::ui {

class Appearance;
class BucketsView;
class CommandPalette;
class CompareView;
class DivergenceView;
class EmptyState;
class ExportController;
class EventsPanel;
class HookManagerPanel;
class HooksView;
class InspectorPanel;
class IterationBox;
class KeyBindings;
class KeyEditor;
class LiveView;
class LogPanel;
class MessageBar;
class OverlapView;
class ProblemsPanel;
class RunSession;
class RunsPanel;
class SetupPanel;
class Stages;
class StartPage;
class StatisticsPanel;
class StatusReadout;
class StepStrip;
class TimelineView;
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
/// closing or killing it leaves every run alone. [ui-thread]
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  MainWindow(const StudioPaths& paths, Appearance& appearance);
  ~MainWindow() override;

  /// Opens a run file, live or not, on the view that was shown last.
  void openRun(const QString& path);
  /// Starts an experiment file and opens its run as soon as that exists.
  void runExperiment(const QString& path);
  /// Opens the run that was open when the studio was closed, as it was shown then; does nothing
  /// when there is none, its file is gone or the user does not want it.
  void restoreSession();

  [[nodiscard]] RunSession* session() const { return session_.get(); }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  // MainWindowLayout.cpp
  void buildStage();
  void buildViews();      // MainWindowViews.cpp
  void buildDocks();
  void buildToolBar();
  void restoreWindow();
  QDockWidget* addDock(const QString& name, const QString& title, QWidget* widget,
                       Qt::DockWidgetArea area);

  // MainWindowViews.cpp
  void wireViews();
  void wireTables();
  void listEvents(const QString& query);
  void refreshOtherRuns();

  // MainWindowWiring.cpp
  void wireCommands();
  void wirePanels();
  void wireLook();

  // MainWindowLook.cpp
  void setLayout(const QString& name);
  void arrangeDocks();
  void resetLayout();
  void setScale(int percent);
  void showPalette();
  void showKeys();
  void changeKeys();
  void keepSession();

  // MainWindowSession.cpp
  void closeSession();
  void takeSession(std::unique_ptr<RunSession> session);
  void runStateChanged(trace::RunState state);

  // Runs
  void runSelected();
  void runDemo();
  void started(const base::Result<QString>& run);
  void runStarted(const QString& run);
  void runNotStarted(const QString& line);
  void stopCurrent();
  void runAppeared(const QString& path);
  void runEndedEarly(const QString& path, const QString& line, int exitCode);

  /// What the window says of a run that could not be started.
  static inline const QString kStartMessage = QStringLiteral("start");
  /// What the window says of the end of the open run.
  static inline const QString kEndMessage = QStringLiteral("end");

  // MainWindowJobs.cpp
  void wireJobs();
  /// Asks for a job of PyTorch: this one at first, or the last.
  void askJob(const std::optional<JobRequest>& job, const QString& hint);
  void startJob(const JobRequest& job);
  /// Shows what a command wrote that has no run file.
  void logOutput(const QStringList& lines);
  void jobEndedEarly(const QString& path, int exitCode);
  /// Starts a run again; of a job of PyTorch, asks what of its command is to be changed.
  void repeatRun(const QString& path);
  void importTraces(const QStringList& paths);

  // What starts runs, and is being built perhaps
  void wireBuild();
  void takePrograms();

  // MainWindowQueue.cpp
  void wireQueue();
  void startNextInQueue(const QString& experiment);
  void keepFailureInSight(const QString& run);

  // Window
  enum class Page { kStart, kViews, kComingUp };
  void showPage(Page page);
  void showView(const QString& name);
  void chooseRunFile();
  void buildExport();  // MainWindow.cpp
  void exportPicture();
  /// A stretch of the timeline; of other views, and without one, what is in sight.
  void exportPictureOf(std::optional<TimeRange> range);
  base::Status saveView(const QString& path, TimeRange range);
  void reportProblem(bool error, const QString& text);
  void refreshCommands();
  void refreshTitle();
  void refreshIteration();
  void refreshChecks();
  void applyTheme();
  [[nodiscard]] QString selectedExperiment() const;

  StudioPaths paths_;
  Appearance& appearance_;
  Settings settings_;
  BuildWatch build_;
  Programs programs_;
  RunController controller_;
  std::vector<ExperimentEntry> experiments_;
  std::unique_ptr<RunSession> session_;
  bool sawLive_ = false;    // the open run was live while it was open here
  QString pendingRun_;      // started, its file not there yet
  std::optional<JobRequest> job_;  // the same, where it is a job of PyTorch
  bool jobStopped_ = false;
  OutputFollower output_;  // of it
  Page page_ = Page::kViews;
  QString layout_;

  MessageBar* messages_ = nullptr;
  StepStrip* strip_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  Stages* stages_ = nullptr;
  StartPage* startPage_ = nullptr;
  EmptyState* comingUp_ = nullptr;
  LiveView* live_ = nullptr;
  TimelineView* timeline_ = nullptr;
  BucketsView* buckets_ = nullptr;
  OverlapView* overlap_ = nullptr;
  DivergenceView* divergence_ = nullptr;
  HooksView* hooksView_ = nullptr;
  CompareView* compare_ = nullptr;
  SetupPanel* setup_ = nullptr;
  HookManagerPanel* hookManager_ = nullptr;
  RunsPanel* runs_ = nullptr;
  InspectorPanel* inspector_ = nullptr;
  LogPanel* log_ = nullptr;
  ProblemsPanel* problems_ = nullptr;
  EventsPanel* events_ = nullptr;
  StatisticsPanel* statistics_ = nullptr;
  QDockWidget* runsDock_ = nullptr;
  QDockWidget* setupDock_ = nullptr;
  QDockWidget* hooksDock_ = nullptr;
  QDockWidget* inspectorDock_ = nullptr;
  QDockWidget* logDock_ = nullptr;
  QDockWidget* problemsDock_ = nullptr;
  QDockWidget* eventsDock_ = nullptr;
  QDockWidget* statisticsDock_ = nullptr;
  QByteArray usualDocks_;  // arrangement of the docks when all are shown
  QByteArray viewDocks_;   // their arrangement while the start page hides some
  std::unique_ptr<Commands> commands_;
  QComboBox* experimentBox_ = nullptr;
  IterationBox* iteration_ = nullptr;
  StatusReadout* status_ = nullptr;
  std::unique_ptr<KeyBindings> bindings_;
  CommandPalette* palette_ = nullptr;
  KeyEditor* keyEditor_ = nullptr;
  ExportController* export_ = nullptr;
  TraceImport* import_ = nullptr;
};

}  // namespace lockstep::ui
