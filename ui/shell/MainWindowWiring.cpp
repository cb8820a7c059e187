#include <QCoreApplication>
#include <QDockWidget>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QStatusBar>

#include "ui/panels/InspectorPanel.h"
#include "ui/panels/ProblemsPanel.h"
#include "ui/panels/RunsPanel.h"
#include "ui/panels/hooks/HookManagerPanel.h"
#include "ui/panels/setup/SetupPanel.h"
#include "ui/shell/Appearance.h"
#include "ui/shell/IterationBox.h"
#include "ui/shell/MainWindow.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/Stages.h"
#include "ui/shell/StartPage.h"
#include "ui/shell/StatusReadout.h"
#include "ui/shell/StepStrip.h"
#include "ui/shell/TraceImport.h"
#include "ui/views/timeline/TimelineView.h"

// Who listens to whom in the main window.
namespace lockstep::ui {

void MainWindow::wireBuild() {
  if (programs_.building) {
    setup_->setRank({}, tr("The buckets can be told when lockstep-rank is built."));
  }
  connect(&build_, &BuildWatch::changed, this, &MainWindow::takePrograms);
}

void MainWindow::takePrograms() {
  programs_ = build_.programs();
  controller_.setPrograms(programs_);
  import_->setPrograms(programs_);
  if (!programs_.building) {
    setup_->setRank(programs_.rank);
    hookManager_->setLockstep(programs_.lockstep);
    messages_->dismiss(kStartMessage);  // it may say that the build goes on
    const bool good = !programs_.lockstep.isEmpty();
    messages_->show(QStringLiteral("build"),
                    good ? MessageBar::Kind::kGood : MessageBar::Kind::kError,
                    good ? tr("Everything is built: runs can be started")
                         : tr("The build ended without lockstep; the terminal that opened the "
                              "studio says why"));
  }
  refreshChecks();
  refreshCommands();
}

void MainWindow::wireCommands() {
  connect(commands_->open, &QAction::triggered, this, &MainWindow::chooseRunFile);
  connect(commands_->reopen, &QAction::triggered, this, [this] {
    const QStringList recent = settings_.recentRuns();
    if (!recent.isEmpty()) openRun(recent.front());
  });
  connect(commands_->exportPicture, &QAction::triggered, this, &MainWindow::exportPicture);
  connect(commands_->quit, &QAction::triggered, this, &QWidget::close);
  connect(commands_->run, &QAction::triggered, this, &MainWindow::runSelected);
  connect(commands_->stop, &QAction::triggered, this, &MainWindow::stopCurrent);
  connect(commands_->repeat, &QAction::triggered, this, [this] {
    if (session_) repeatRun(session_->path());
  });
  connect(commands_->undo, &QAction::triggered, this, [this] {
    if (session_) session_->state()->undoStack().undo();
  });
  connect(commands_->redo, &QAction::triggered, this, [this] {
    if (session_) session_->state()->undoStack().redo();
  });
  connect(commands_->copyJson, &QAction::triggered, inspector_, &InspectorPanel::copyJson);
  connect(commands_->startPage, &QAction::triggered, this, [this] { showPage(Page::kStart); });
  for (QAction* view : commands_->views) {
    connect(view, &QAction::triggered, this, [this, view] { showView(view->data().toString()); });
  }
  connect(commands_->fit, &QAction::triggered, this, [this] {
    if (session_ && !session_->model()->extent().empty()) {
      session_->state()->setRange(session_->model()->extent());
    }
  });
  // A click checks the button before the timeline has said what it does about it.
  connect(commands_->follow, &QAction::triggered, this,
          [this] { commands_->follow->setChecked(session_ && session_->state()->followsLive()); });
  connect(commands_->about, &QAction::triggered, this, [this] {
    QMessageBox::about(this, tr("About Lockstep"),
                       tr("<b>Lockstep %1</b><p>A workbench for data-parallel training: it runs "
                          "real DDP experiments and shows every gradient bucket as it forms, "
                          "flies and lands on every rank.</p>")
                           .arg(QCoreApplication::applicationVersion()));
  });
  QMenu* recent = commands_->fillMenus(
      *this, {runsDock_->toggleViewAction(), setupDock_->toggleViewAction(),
              hooksDock_->toggleViewAction(), inspectorDock_->toggleViewAction(),
              logDock_->toggleViewAction(), problemsDock_->toggleViewAction(),
              statisticsDock_->toggleViewAction(), eventsDock_->toggleViewAction()});
  connect(recent, &QMenu::aboutToShow, this, [this, recent] {
    recent->clear();
    for (const QString& path : settings_.recentRuns()) {
      if (QFileInfo::exists(path)) {
        recent->addAction(QFileInfo(path).completeBaseName(), this, [this, path] { openRun(path); })
            ->setToolTip(path);
      }
    }
    if (recent->isEmpty()) {
      recent->addAction(tr("No runs opened yet"))->setEnabled(false);
    }
  });
}

void MainWindow::wireLook() {
  connect(commands_->themes, &QActionGroup::triggered, this, [this](const QAction* action) {
    const auto choice = static_cast<ThemeChoice>(action->data().toInt());
    appearance_.setChoice(choice);
    settings_.setTheme(choice);
  });
  for (QAction* action : commands_->themes->actions()) {
    action->setChecked(action->data().toInt() == static_cast<int>(appearance_.choice()));
  }
  connect(&appearance_, &Appearance::changed, this, &MainWindow::applyTheme);
  connect(commands_->layouts, &QActionGroup::triggered, this,
          [this](const QAction* action) { setLayout(action->data().toString()); });
  connect(commands_->resetLayout, &QAction::triggered, this, &MainWindow::resetLayout);
  connect(commands_->scales, &QActionGroup::triggered, this,
          [this](const QAction* action) { setScale(action->data().toInt()); });
  for (QAction* action : commands_->scales->actions()) {
    action->setChecked(action->data().toInt() == settings_.scale());
  }
  commands_->restoreSession->setChecked(settings_.restoresSession());
  connect(commands_->restoreSession, &QAction::toggled, this,
          [this](bool on) { settings_.setRestoresSession(on); });
  connect(commands_->palette, &QAction::triggered, this, &MainWindow::showPalette);
  connect(commands_->keys, &QAction::triggered, this, &MainWindow::showKeys);
  connect(commands_->changeKeys, &QAction::triggered, this, &MainWindow::changeKeys);
}

void MainWindow::wirePanels() {
  startPage_->setExperiments(experiments_);
  startPage_->setFirst(experiments_.empty() ? ExperimentEntry{} : experiments_.front());
  connect(startPage_, &StartPage::runRequested, this, &MainWindow::runExperiment);
  connect(startPage_, &StartPage::openRequested, this, &MainWindow::openRun);
  connect(startPage_, &StartPage::chooseFileRequested, this, &MainWindow::chooseRunFile);
  connect(runs_, &RunsPanel::openRequested, this, &MainWindow::openRun);
  connect(runs_, &RunsPanel::stopRequested, &controller_, &RunController::stop);
  connect(runs_, &RunsPanel::repeatRequested, this, &MainWindow::repeatRun);
  connect(runs_, &RunsPanel::demoRequested, this, &MainWindow::runDemo);
  connect(runs_, &RunsPanel::failed, this,
          [this](const QString& sentence) { reportProblem(false, sentence); });
  connect(runs_, &RunsPanel::refreshed, this,
          [this] { startPage_->setRecentRuns(runs_->runs().entries()); });
  connect(problems_, &ProblemsPanel::showRequested, this, [this](int rank, quint32 step) {
    showView(QStringLiteral("timeline"));
    if (session_ && !session_->showStep(step, rank)) {
      statusBar()->showMessage(tr("The run file holds no iteration %1").arg(step), 5000);
    }
  });
  connect(problems_, &ProblemsPanel::changed, this, [this] {
    const std::size_t count = problems_->count();
    problemsDock_->setWindowTitle(count == 0 ? tr("Problems") : tr("Problems (%1)").arg(count));
  });
  connect(strip_, &StepStrip::cancelRequested, this, &MainWindow::stopCurrent);
  connect(iteration_, &IterationBox::jumpRequested, this, [this](quint32 step) {
    if (session_ && !session_->showStep(step)) {
      statusBar()->showMessage(tr("The run file holds no iteration %1").arg(step), 5000);
    }
    stages_->currentView()->setFocus(Qt::OtherFocusReason);
  });
  connect(status_, &StatusReadout::dropsClicked, this, [this] {
    problemsDock_->show();
    problemsDock_->raise();
  });
  connect(&controller_, &RunController::appeared, this, &MainWindow::runAppeared);
  connect(&controller_, &RunController::endedEarly, this, &MainWindow::runEndedEarly);
  connect(&controller_, &RunController::ended, runs_, &RunsPanel::refresh);
  connect(&controller_, &RunController::stopFailed, this, [this](const QString& sentence) {
    reportProblem(false, sentence);
    messages_->show("stop", MessageBar::Kind::kWarning, sentence);
  });
}

}  // namespace lockstep::ui
