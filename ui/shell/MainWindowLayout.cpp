#include <QComboBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QScreen>
#include <QStackedWidget>
#include <QStatusBar>
#include <QThread>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/Format.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/InspectorPanel.h"
#include "ui/panels/KeyTips.h"
#include "ui/panels/LogPanel.h"
#include "ui/panels/ProblemsPanel.h"
#include "ui/panels/RunsPanel.h"
#include "ui/panels/events/EventsPanel.h"
#include "ui/panels/hooks/HookManagerPanel.h"
#include "ui/panels/setup/SetupPanel.h"
#include "ui/panels/statistics/StatisticsPanel.h"
#include "ui/shell/Appearance.h"
#include "ui/shell/IterationBox.h"
#include "ui/shell/MainWindow.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/Stages.h"
#include "ui/shell/StartPage.h"
#include "ui/shell/StatusReadout.h"
#include "ui/shell/StepStrip.h"
#include "ui/shell/ViewPictures.h"
#include "ui/views/compare/CompareView.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::ui {

void MainWindow::buildStage() {
  messages_ = new MessageBar;
  strip_ = new StepStrip;
  startPage_ = new StartPage;
  timeline_ = new TimelineView;  // a GL canvas must be there before the window is shown
  stages_ = new Stages;
  buildViews();
  pages_ = new QStackedWidget;
  pages_->addWidget(startPage_);
  pages_->addWidget(stages_);
  // The step strip above it has the button.
  comingUp_ = new EmptyState(QString(), QString());
  comingUp_->setObjectName("comingUp");
  pages_->addWidget(comingUp_);
  auto* centre = new QWidget;
  auto* column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(messages_);
  column->addWidget(strip_);
  column->addWidget(pages_, 1);
  setCentralWidget(centre);
  status_ = new StatusReadout(timeline_);
  statusBar()->addPermanentWidget(status_);
  statusBar()->setSizeGripEnabled(false);
}

QDockWidget* MainWindow::addDock(const QString& name, const QString& title, QWidget* widget,
                                 Qt::DockWidgetArea area) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(name);
  dock->setWidget(widget);
  addDockWidget(area, dock);
  return dock;
}

void MainWindow::buildDocks() {
  setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
  setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  runs_ = new RunsPanel(paths_.runs);
  inspector_ = new InspectorPanel;
  log_ = new LogPanel;
  problems_ = new ProblemsPanel;
  events_ = new EventsPanel;
  statistics_ = new StatisticsPanel;
  setup_ = new SetupPanel({.rank = programs_.rank,
                           .hookscan = QString(),
                           .drafts = paths_.runs + QStringLiteral("/drafts")});
  hookManager_ = new HookManagerPanel({.lockstep = programs_.lockstep, .folder = {}, .scan = {}});
  runsDock_ = addDock("runsDock", tr("Runs"), runs_, Qt::LeftDockWidgetArea);
  setupDock_ = addDock("setupDock", tr("Setup"), setup_, Qt::LeftDockWidgetArea);
  hooksDock_ = addDock("hooksDock", tr("Hooks"), hookManager_, Qt::LeftDockWidgetArea);
  tabifyDockWidget(runsDock_, setupDock_);
  tabifyDockWidget(setupDock_, hooksDock_);
  runsDock_->raise();
  inspectorDock_ = addDock("inspectorDock", tr("Inspector"), inspector_, Qt::RightDockWidgetArea);
  logDock_ = addDock("logDock", tr("Log"), log_, Qt::BottomDockWidgetArea);
  // Each at once: side by side they would make the window wider than a small screen.
  problemsDock_ = addDock("problemsDock", tr("Problems"), problems_, Qt::BottomDockWidgetArea);
  tabifyDockWidget(logDock_, problemsDock_);
  statisticsDock_ =
      addDock("statisticsDock", tr("Statistics"), statistics_, Qt::BottomDockWidgetArea);
  tabifyDockWidget(problemsDock_, statisticsDock_);
  eventsDock_ = addDock("eventsDock", tr("Events"), events_, Qt::BottomDockWidgetArea);
  tabifyDockWidget(statisticsDock_, eventsDock_);
  logDock_->raise();
}

void MainWindow::buildToolBar() {
  auto* bar = addToolBar(tr("Run"));
  bar->setObjectName("runToolBar");
  bar->setMovable(false);
  bar->setIconSize({16, 16});
  bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);

  experimentBox_ = new QComboBox;
  experimentBox_->setObjectName("experimentBox");
  experimentBox_->setAccessibleName(tr("Experiment"));
  experimentBox_->setMinimumContentsLength(16);
  experimentBox_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  if (!paths_.experiment.isEmpty()) {
    const ExperimentEntry given = readExperiment(paths_.experiment, paths_.experiments);
    const auto listed =
        std::find_if(experiments_.begin(), experiments_.end(),
                     [&](const ExperimentEntry& entry) { return entry.path == given.path; });
    if (listed == experiments_.end()) {
      experiments_.insert(experiments_.begin(), given);
    } else {
      std::rotate(experiments_.begin(), listed, listed + 1);
    }
  }
  for (const ExperimentEntry& entry : experiments_) {
    const bool plain = entry.group.isEmpty() || entry.group == QStringLiteral("first_steps");
    experimentBox_->addItem(plain ? entry.name : entry.group + '/' + entry.name, entry.path);
    experimentBox_->setItemData(experimentBox_->count() - 1,
                                entry.mistake.isEmpty() ? entry.shows : entry.mistake,
                                Qt::ToolTipRole);
  }
  const int last = experimentBox_->findData(settings_.experiment());
  if (paths_.experiment.isEmpty() && last >= 0) {
    experimentBox_->setCurrentIndex(last);
  }
  experimentBox_->setToolTip(tr("The experiment that Run starts"));

  bar->addWidget(experimentBox_);
  bar->addSeparator();
  bar->addActions({commands_->run, commands_->stop, commands_->repeat});
  bar->addSeparator();
  bar->addAction(commands_->follow);
  bar->addSeparator();
  iteration_ = new IterationBox(commands_->previousIteration, commands_->nextIteration);
  bar->addWidget(iteration_);
  bar->addSeparator();
  bar->addAction(commands_->fit);
}

void MainWindow::restoreWindow() {
  const QSize screen = QGuiApplication::primaryScreen()->availableSize();
  resize(screen.width() <= 1440 ? screen : (screen * 0.88).boundedTo(QSize(2240, 1320)));
  const int runs = std::clamp(width() * 3 / 14, 300, 440);  // with its figures in sight
  const int inspector = std::clamp(width() / 6, 230, 380);
  resizeDocks({runsDock_, inspectorDock_}, {runs, inspector}, Qt::Horizontal);
  resizeDocks({logDock_}, {std::clamp(height() / 6, 130, 260)}, Qt::Vertical);
  usualDocks_ = saveState();
  restoreGeometry(settings_.geometry());
  layout_ = settings_.layout();
  for (QAction* action : commands_->layouts->actions()) {
    action->setChecked(action->data().toString() == layout_);
  }
  if (commands_->layouts->checkedAction() == nullptr) {
    layout_ = QStringLiteral("analyse");
    commands_->layouts->actions().at(1)->setChecked(true);
  }
  arrangeDocks();
  viewDocks_ = saveState();
}

void MainWindow::showPage(Page page) {
  if (page == page_) {
    return;
  }
  if (page == Page::kStart) {
    // What speaks of an open run has nothing to say here; it comes back as it was.
    viewDocks_ = saveState();
    for (QDockWidget* dock : findChildren<QDockWidget*>()) {
      if (dock == inspectorDock_ || dock == logDock_ || dock == statisticsDock_ ||
          dock == eventsDock_) {
        dock->hide();
      }
    }
    problemsDock_->setVisible(problems_->count() > 0);
  } else if (page_ == Page::kStart) {
    restoreState(viewDocks_);
  }
  page_ = page;
  pages_->setCurrentIndex(static_cast<int>(page));
  if (page == Page::kStart) {
    startPage_->focusFirst();
  } else if (page == Page::kViews) {
    stages_->currentView()->setFocus(Qt::OtherFocusReason);
  }
}

void MainWindow::showView(const QString& name) {
  stages_->setCurrent(name);
  showPage(pendingRun_.isEmpty() ? Page::kViews : Page::kComingUp);
}

void MainWindow::chooseRunFile() {
  const QString path = QFileDialog::getOpenFileName(
      this, tr("Open a run"), paths_.runs, tr("Lockstep runs (*.lockstep);;All files (*)"));
  if (!path.isEmpty()) {
    openRun(path);
  }
}

base::Status MainWindow::saveView(const QString& path, TimeRange range) {
  std::vector<PicturedRun> runs{{session_->model(), session_->analyser()->latest()}};
  if (stages_->currentView() == compare_ && compare_->runs().count() > 0) {
    const std::size_t other = compare_->other() - 1;
    runs.push_back({compare_->runs().other(other), compare_->runs().analysed(other)});
  }
  const auto picture = viewPicture(stages_->current(), runs, QSize(stages_->width(), 0),
                                   appearance_.theme(), range, session_->state()->iteration());
  return picture.ok() ? savePicture(picture.value(), path) : base::Status(picture.error());
}

void MainWindow::exportPicture() {
  exportPictureOf(std::nullopt);
}

void MainWindow::exportPictureOf(std::optional<TimeRange> range) {
  if (!session_) {
    return;
  }
  const QFileInfo run(session_->path());
  QString chosen;
  QString path = QFileDialog::getSaveFileName(
      this, tr("Export picture"), run.absolutePath() + '/' + run.completeBaseName() + ".png",
      tr("PNG (*.png);;SVG (*.svg);;PDF (*.pdf)"), &chosen);
  if (path.isEmpty()) {
    return;
  }
  if (QFileInfo(path).suffix().isEmpty()) {
    path += '.' + chosen.section(' ', 0, 0).toLower();
  }
  const auto saved = saveView(path, range.value_or(session_->state()->range()));
  if (saved.ok()) {
    statusBar()->showMessage(tr("Saved %1").arg(path), 8000);
  } else {
    messages_->show("export", MessageBar::Kind::kError,
                    QString::fromStdString(saved.error().message()));
  }
}

QString MainWindow::selectedExperiment() const {
  return experimentBox_->currentData().toString();
}

void MainWindow::refreshCommands() {
  const bool live = !pendingRun_.isEmpty() || (session_ && session_->model()->isLive());
  const bool canRun = !programs_.lockstep.isEmpty() && !experiments_.empty();
  commands_->run->setEnabled(canRun);
  const QString missing = reasonAgainstStarting(programs_);
  setup_->blockRun(missing);
  startPage_->blockRecording(missing);
  setTip(commands_->run, !missing.isEmpty() ? missing
                         : experiments_.empty()
                             ? tr("No experiments; name their folder with --experiments")
                             : tr("Run the chosen experiment"));
  commands_->stop->setEnabled(live);
  commands_->record->setEnabled(!programs_.lockstep.isEmpty());
  for (QAction* action : {commands_->importFiles, commands_->importFolder}) {
    action->setEnabled(!programs_.lockstep.isEmpty());
  }
  commands_->follow->setEnabled(session_ && session_->model()->isLive());
  const bool open = session_ != nullptr && !session_->model()->info().runId.empty();
  const bool observed = open && session_->model()->info().kind == trace::RunKind::kObserved;
  const bool foreign = open && session_->model()->info().kind != trace::RunKind::kExperiment;
  const bool again = open && (observed || !foreign);  // there is nothing to start of traces
  commands_->repeat->setEnabled(again && !programs_.lockstep.isEmpty());
  setup_->setNote(foreign ? tr("%1, which is open, is a job of PyTorch: it has no experiment to "
                               "edit. What is below is another one.")
                                .arg(session_->name())
                          : QString());
  commands_->repeat->setText(observed ? tr("Run a&gain…") : tr("Re&peat"));
  setTip(commands_->repeat, !again && open ? tr("This run has no command that could be run again")
                            : observed     ? tr("Run the command of this job again")
                                           : tr("Run the experiment of this run again"));
  commands_->exportPicture->setEnabled(open);
  for (QAction* action : {commands_->fit, commands_->previousIteration, commands_->nextIteration}) {
    action->setEnabled(open);
  }
  commands_->copyJson->setEnabled(session_ && session_->state()->selection().has_value());
  commands_->undo->setEnabled(session_ && session_->state()->undoStack().canUndo());
  commands_->redo->setEnabled(session_ && session_->state()->undoStack().canRedo());
  commands_->reopen->setEnabled(!settings_.recentRuns().isEmpty());
}

void MainWindow::refreshTitle() {
  if (!pendingRun_.isEmpty()) {
    setWindowTitle(tr("%1 – starting – Lockstep").arg(QFileInfo(pendingRun_).completeBaseName()));
  } else if (session_) {
    const bool known = !session_->model()->info().runId.empty();
    setWindowTitle(tr("%1 – %2 – Lockstep")
                       .arg(session_->name(),
                            known ? stateText(session_->model()->info().state) : tr("opening")));
  } else {
    setWindowTitle(tr("Lockstep"));
  }
}

void MainWindow::refreshIteration() {
  if (!session_) {
    iteration_->setIteration(std::nullopt, 0);
    return;
  }
  const RunModel& model = *session_->model();
  const auto done = static_cast<std::uint32_t>(model.stepCount(0));
  iteration_->setIteration(session_->state()->iteration(),
                           std::max(model.info().plannedSteps, done));
}

void MainWindow::refreshChecks() {
  const bool building = programs_.building;
  const auto found = [this](const QString& path, const QString& name, const QString& missing) {
    return StartPage::Check{!path.isEmpty(), path.isEmpty() ? missing : tr("%1 found").arg(name)};
  };
  const int cores = QThread::idealThreadCount();
  startPage_->setChecks(
      {found(programs_.lockstep, "lockstep",
             building ? reasonAgainstStarting(programs_)
                      : tr("lockstep is not in %1: runs can be opened, not started")
                            .arg(programs_.folder)),
       found(programs_.rank, "lockstep-rank",
             building ? tr("lockstep-rank is still being built")
                      : tr("lockstep-rank is not in %1: it is built only with libtorch")
                            .arg(programs_.folder)),
       {true, formatCounted(static_cast<std::uint64_t>(cores), "core")},
       {true, tr("Timeline drawn by %1").arg(timeline_->rendererName())}});
}

void MainWindow::applyTheme() {
  stages_->setTheme(appearance_.theme());
  refreshChecks();
}

void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && startPage_ != nullptr && runs_ != nullptr) {
    refreshChecks();  // its marks are pixmaps
  }
}

}  // namespace lockstep::ui
