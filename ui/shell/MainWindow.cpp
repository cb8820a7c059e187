#include "ui/shell/MainWindow.h"

#include <QCloseEvent>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QStackedWidget>
#include <QStatusBar>

#include "engine/experiment/Parse.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/LogPanel.h"
#include "ui/panels/ProblemsPanel.h"
#include "ui/panels/RunsPanel.h"
#include "ui/panels/setup/SetupPanel.h"
#include "ui/shell/ExportController.h"
#include "ui/shell/KeyBindings.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/Stages.h"
#include "ui/shell/StartPage.h"
#include "ui/shell/StepStrip.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::ui {
namespace {

StudioPaths completed(StudioPaths paths) {
  if (paths.experiments.isEmpty()) {
    paths.experiments = shippedExperiments();
  }
  if (paths.runs.isEmpty()) {
    paths.runs = defaultRunsFolder();
  }
  paths.runs = QDir(paths.runs).absolutePath();
  return paths;
}

}  // namespace

MainWindow::MainWindow(const StudioPaths& paths, Appearance& appearance)
    : paths_(completed(paths)),
      appearance_(appearance),
      build_(paths_.programs),
      programs_(build_.programs()),
      controller_(programs_, paths_.runs),
      experiments_(listExperiments(paths_.experiments)) {
  setObjectName("lockstepStudio");
  setAcceptDrops(true);
  buildStage();
  buildDocks();
  commands_ = std::make_unique<Commands>(this, *stages_);
  bindings_ = std::make_unique<KeyBindings>(commands_->groups(), settings_);
  buildToolBar();
  wireCommands();
  wirePanels();
  wireLook();
  wireViews();
  buildExport();
  wireTables();
  wireJobs();
  wireBuild();
  applyTheme();
  restoreWindow();
  refreshChecks();
  refreshCommands();
  refreshTitle();
  refreshIteration();
  stages_->setCurrent(QStringLiteral("timeline"));
  showPage(Page::kStart);
}

void MainWindow::buildExport() {
  export_ = new ExportController(
      {.window = this,
       .messages = messages_,
       .session = [this] { return session_.get(); },
       .viewTitle = [this] { return stages_->titleOf(stages_->current()); },
       .savePicture = [this](const QString& path,
                             TimeRange range) { return saveView(path, range); }},
      this);
  connect(commands_->exportRun, &QAction::triggered, export_, &ExportController::ask);
  connect(export_, &ExportController::progressed, this, [this](double part) {
    statusBar()->showMessage(tr("Export: %1 %").arg(static_cast<int>(100 * part)));
  });
  connect(export_, &ExportController::ended, statusBar(), &QStatusBar::clearMessage);
}

MainWindow::~MainWindow() {
  closeSession();
}

void MainWindow::openRun(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  if (session_ && session_->path() == absolute && !session_->model()->info().runId.empty()) {
    showPage(Page::kViews);
    return;
  }
  messages_->dismissAll();
  settings_.addRecentRun(absolute);
  takeSession(std::make_unique<RunSession>(absolute));
  showPage(Page::kViews);
}

void MainWindow::runExperiment(const QString& path) {
  for (int row = 0; row < experimentBox_->count(); ++row) {
    if (experimentBox_->itemData(row).toString() == path) {
      experimentBox_->setCurrentIndex(row);
    }
  }
  settings_.setExperiment(path);
  // The runs of a sweep go one after the other through the queue of the setup.
  if (!experiment::parseFile(path.toStdString()).sweep.empty()) {
    setupDock_->show();
    setupDock_->raise();
    setup_->openAndRun(path);
    return;
  }
  started(controller_.start(path));
}

void MainWindow::runSelected() {
  if (!selectedExperiment().isEmpty()) {
    runExperiment(selectedExperiment());
  }
}

void MainWindow::runDemo() {
  if (!experiments_.empty()) {
    runExperiment(experiments_.front().path);
  }
}

void MainWindow::started(const base::Result<QString>& run) {
  messages_->dismissAll();
  if (!run.ok()) {
    runNotStarted(QString::fromStdString(run.error().message()));
    return;
  }
  runStarted(run.value());
}

void MainWindow::runNotStarted(const QString& line) {
  reportProblem(true, line);
  messages_->show(kStartMessage, MessageBar::Kind::kError, line);
}

void MainWindow::runStarted(const QString& run) {
  setup_->queue().runStarted();
  messages_->dismiss(kStartMessage);
  messages_->dismiss(kEndMessage);
  closeSession();
  pendingRun_ = run;
  job_.reset();
  output_.stop();
  comingUp_->setSentence(
      tr("The run is coming up. Its timeline appears with the first iteration."));
  problems_->clear();
  log_->clear();
  strip_->begin();
  showPage(Page::kComingUp);
  refreshCommands();
  refreshTitle();
}

void MainWindow::stopCurrent() {
  if (!pendingRun_.isEmpty()) {
    jobStopped_ = true;
    controller_.stop(pendingRun_);
  } else if (session_ && session_->model()->isLive()) {
    controller_.stop(session_->path());
  }
}

void MainWindow::runAppeared(const QString& path) {
  if (path == pendingRun_) {
    pendingRun_.clear();
    job_.reset();
    output_.stop();  // from here on the run file has it
    settings_.addRecentRun(path);
    takeSession(std::make_unique<RunSession>(path));
    if (page_ == Page::kComingUp) {  // the user may have gone back to the start page
      showPage(Page::kViews);
    }
  }
  runs_->refresh();
}

void MainWindow::runEndedEarly(const QString& path, const QString& line, int exitCode) {
  if (path == pendingRun_ && job_) {
    jobEndedEarly(path, exitCode);
    return;
  }
  const QString said =
      line.isEmpty() ? tr("lockstep run ended with exit code %1 and said nothing").arg(exitCode)
                     : line;
  reportProblem(true, said);
  messages_->show(QStringLiteral("failed ") + path, MessageBar::Kind::kError, said);
  OutputFollower all;
  connect(&all, &OutputFollower::grew, this, &MainWindow::logOutput);
  all.follow(QFileInfo(path).absolutePath() + '/' + QFileInfo(path).completeBaseName() + ".log");
  all.finish();
  if (path == pendingRun_) {
    pendingRun_.clear();
    strip_->end();
    if (!session_) {
      showPage(Page::kStart);
    }
  }
  refreshCommands();
  refreshTitle();
}

void MainWindow::reportProblem(bool error, const QString& text) {
  problems_->add({error, -1, std::nullopt, text});
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!setup_->mayDiscard()) {
    event->ignore();
    return;
  }
  settings_.setGeometry(saveGeometry());
  settings_.setDocks(layout_, page_ == Page::kStart ? viewDocks_ : saveState());
  keepSession();
  QMainWindow::closeEvent(event);
}

}  // namespace lockstep::ui
