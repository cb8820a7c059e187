#include "ui/shell/MainWindow.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QStatusBar>
#include <algorithm>

#include "ui/panels/Labels.h"
#include "ui/panels/LocalFiles.h"
#include "ui/panels/findings/FindingsList.h"
#include "ui/shell/Appearance.h"
#include "ui/shell/ExportController.h"
#include "ui/shell/Help.h"
#include "ui/shell/IterationBox.h"
#include "ui/shell/Links.h"
#include "ui/shell/LookFor.h"
#include "ui/shell/PaletteEntries.h"
#include "ui/shell/Preferences.h"
#include "ui/shell/RunBar.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/TraceImport.h"

namespace lockstep::ui {
namespace {

QString runsFolder(const StudioPaths& paths) {
  return QDir(paths.runs.isEmpty() ? defaultRunsFolder() : paths.runs).absolutePath();
}

/// What a drop on the window asks for; at most one of both is filled.
struct Drop {
  QStringList runs;    ///< to be opened, the first compared with the others
  QStringList traces;  ///< to be imported

  [[nodiscard]] bool any() const { return !runs.isEmpty() || !traces.isEmpty(); }
};

Drop dropOf(const QMimeData& data) {
  Drop drop;
  for (const QString& path : localFiles(data)) {
    if (path.endsWith(QStringLiteral(".lockstep"))) {
      drop.runs.append(path);
    } else if (!path.endsWith(QStringLiteral(".toml"))) {  // an experiment, which the setup takes
      drop.traces.append(path);
    }
  }
  if (!drop.runs.isEmpty()) {
    drop.traces.clear();  // runs go before all else that was dropped with them
  }
  return drop;
}

}  // namespace

// Note [Parts of the window]
//
// Members are made in the order of the header, each from those before it, and nothing is connected
// before all are there: settings and programs, what starts runs, then what stands in the window
// (frame_), the commands for its views, their keys as the user has them, the open run and what
// follows a run that comes up. wireXyz then says who listens to whom, a part of the window at a
// time. The last lines put the window into its first state: docks, theme, nothing open, the start
// page.
//
// They go in the other order. Widgets are an exception: they are children of the QMainWindow, which
// outlives all members; so views must let go of the run before that (the destructor).
MainWindow::MainWindow(const StudioPaths& paths, Appearance& appearance)
    : appearance_(appearance),
      build_(paths.programs),
      controller_(build_.programs(), runsFolder(paths)),
      experiments_(
          listExperiments(paths.experiments.isEmpty() ? shippedExperiments() : paths.experiments,
                          paths.experiment)),
      frame_(*this, settings_, build_.programs(), runsFolder(paths)),
      commands_(this, *frame_.stages, frame_.panels.runs->panelActions()),
      keys_(commands_.groups(), settings_),
      bar_(new RunBar(commands_, experiments_)),
      run_(frame_, settings_),
      launcher_(frame_, run_, controller_, settings_),
      experiment_(frame_, *bar_, launcher_, settings_),
      import_(new TraceImport(controller_, *frame_.messages, this)),
      lookFor_(new LookFor(experiments_, *frame_.messages, commands_.lookFor, this)) {
  setObjectName("lockstepStudio");
  setAcceptDrops(true);
  addToolBar(bar_);
  frame_.start->setExperiments(experiments_);
  frame_.start->setFirst(experiments_.empty() ? ExperimentEntry{} : experiments_.front());
  linkParts(frame_, run_);
  wireRuns();
  wireExperiment();
  wireFiles();
  wireView();
  wireMenus();
  wireBuild();
  // When all that a kept arrangement names is in its place: docks and toolbar.
  frame_.docks.restore();
  for (QAction* action : commands_.layouts->actions()) {
    action->setChecked(action->data().toString() == frame_.docks.layout());
  }
  refreshTheme();
  refresh();
  refreshIteration();
  frame_.stages->setCurrent(QStringLiteral("timeline"));
  frame_.pages->turnTo(Pages::Page::kStart);
  // The one that was given, which is the first of the list, else the one that was run last.
  const QString last = settings_.experiment();
  const QString first = experiments_.empty() ? QString() : experiments_.front().path;
  experiment_.begin(paths.experiment.isEmpty() && QFileInfo::exists(last) ? last : first);
}

MainWindow::~MainWindow() {
  // Views let go of the run while it is there: they are the window's children, and go after run_.
  run_.close();
}

// --- runs

void MainWindow::wireRuns() {
  connect(commands_.stop, &QAction::triggered, &launcher_, &Launcher::stop);
  connect(commands_.repeat, &QAction::triggered, this, [this] {
    if (session() != nullptr) {
      launcher_.repeat(session()->path());
    }
  });
  connect(commands_.runAgain, &QAction::triggered, this, [this] {
    if (session() != nullptr) {
      launcher_.runAgain(session()->path());
    }
  });
  connect(frame_.start, &StartPage::runAgainRequested, &launcher_, &Launcher::runAgain);
  connect(frame_.panels.runs, &RunsPanel::runAgainRequested, &launcher_, &Launcher::runAgain);
  connect(frame_.findings, &Findings::applyRequested, &launcher_,
          [this](const diagnosis::Finding& finding) { launcher_.startWith(finding.settings); });
  wireForecasts();
  connect(commands_.record, &QAction::triggered, &launcher_, [this] { launcher_.askJob(); });
  connect(frame_.start, &StartPage::recordRequested, commands_.record, &QAction::trigger);
  connect(frame_.strip, &StepStrip::cancelRequested, &launcher_, &Launcher::stop);
  connect(frame_.panels.runs, &RunsPanel::stopRequested, &controller_, &RunController::stop);
  connect(frame_.panels.runs, &RunsPanel::repeatRequested, &launcher_, &Launcher::repeat);
  connect(frame_.panels.runs, &RunsPanel::demoRequested, this, &MainWindow::runFirst);
  frame_.panels.runs->setGroupBy(settings_.runsGroupBy());
  connect(frame_.panels.runs, &RunsPanel::groupByChosen, this,
          [this](const QString& key) { settings_.setRunsGroupBy(key); });
  for (const RunView* view : frame_.views.all()) {
    connect(view, &RunView::demoRequested, this, &MainWindow::runFirst);
    connect(view, &RunView::openRequested, this, &MainWindow::chooseRunFile);
  }
  connect(&run_, &CurrentRun::repeatRequested, &launcher_, &Launcher::repeat);
  connect(&run_, &CurrentRun::changed, this, &MainWindow::refresh);
  connect(&run_, &CurrentRun::iterationChanged, this, &MainWindow::refreshIteration);
  connect(&launcher_, &Launcher::changed, this, &MainWindow::refresh);
}

/// A forecast that is run, and what comes of it.
void MainWindow::wireForecasts() {
  WhatIfView* whatIf = frame_.views.whatIf;
  connect(whatIf, &WhatIfView::runAgainRequested, commands_.runAgain, &QAction::trigger);
  ForecastHistory& history = whatIf->history();
  connect(whatIf, &WhatIfView::runRequested, &launcher_,
          [this, &history](const experiment::Experiment& experiment, PastForecast forecast) {
            launcher_.startExperiment(experiment, [&history, forecast](const QString& run) mutable {
              forecast.run = run;
              history.begin(forecast);
            });
          });
  connect(&controller_, &RunController::ended, &history, &ForecastHistory::measure);
  connect(&controller_, &RunController::endedEarly, &history, &ForecastHistory::giveUp);
}

void MainWindow::wireExperiment() {
  connect(commands_.run, &QAction::triggered, &experiment_, &CurrentExperiment::runShown);
  connect(frame_.start, &StartPage::runRequested, this, &MainWindow::runExperiment);
  connect(frame_.start, &StartPage::editCopyRequested, &experiment_, &CurrentExperiment::editCopy);
  connect(frame_.panels.runs, &RunsPanel::editCopyRequested, &experiment_,
          &CurrentExperiment::editCopy);
  connect(commands_.editCopy, &QAction::triggered, this, [this] {
    if (session() != nullptr) {
      experiment_.editCopy(session()->path());
    }
  });
}

void MainWindow::runFirst() {
  if (!experiments_.empty()) {
    runExperiment(experiments_.front().path);
  }
}

// --- files

void MainWindow::wireFiles() {
  connect(commands_.open, &QAction::triggered, this, &MainWindow::chooseRunFile);
  connect(commands_.reopen, &QAction::triggered, this, [this] {
    const QStringList recent = settings_.recentRuns();
    if (!recent.isEmpty()) {
      run_.open(recent.front());
    }
  });
  connect(frame_.start, &StartPage::openRequested, &run_, &CurrentRun::open);
  connect(frame_.start, &StartPage::chooseFileRequested, this, &MainWindow::chooseRunFile);
  connect(frame_.panels.runs, &RunsPanel::openRequested, &run_, &CurrentRun::open);
  connect(commands_.importFiles, &QAction::triggered, import_, &TraceImport::chooseFiles);
  connect(commands_.importFolder, &QAction::triggered, import_, &TraceImport::chooseFolder);
  connect(import_, &TraceImport::imported, this,
          [this](const QString& run, const QString& leftOut) {
            run_.open(run);
            frame_.panels.runs->refresh();
            if (!leftOut.isEmpty()) {
              frame_.messages->show(QStringLiteral("import"), MessageBar::Kind::kInfo,
                                    tr("Imported; %1.").arg(leftOut));
            }
          });
  connect(import_, &TraceImport::failed, this,
          [this](const QString& sentence) { frame_.panels.problems->report(true, sentence); });
  auto* exporting = new ExportController(frame_, run_, appearance_, this);
  connect(commands_.exportRun, &QAction::triggered, exporting, &ExportController::ask);
  connect(commands_.exportPicture, &QAction::triggered, exporting,
          [exporting] { exporting->askPicture(); });
  connect(commands_.exportReport, &QAction::triggered, exporting, &ExportController::askReport);
  connect(commands_.savePicture, &QAction::triggered, exporting, &ExportController::savePictureNow);
  connect(commands_.saveTable, &QAction::triggered, exporting, &ExportController::saveTableNow);
  connect(frame_.views.timeline, &TimelineView::exportRangeRequested, exporting,
          &ExportController::askPicture);
}

void MainWindow::chooseRunFile() {
  const QString path =
      QFileDialog::getOpenFileName(this, tr("Open a run"), frame_.panels.runs->folder(),
                                   tr("Lockstep runs (*.lockstep);;All files (*)"));
  if (!path.isEmpty()) {
    run_.open(path);
  }
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (dropOf(*event->mimeData()).any()) {
    event->acceptProposedAction();
  }
}

void MainWindow::dropEvent(QDropEvent* event) {
  const Drop drop = dropOf(*event->mimeData());
  if (!drop.any()) {
    return;
  }
  event->acceptProposedAction();
  if (!drop.runs.isEmpty()) {
    openRuns(drop.runs);
  } else {
    import_->start(drop.traces);
  }
}

// --- what is in sight

void MainWindow::wireView() {
  connect(commands_.startPage, &QAction::triggered, this,
          [this] { frame_.pages->turnTo(Pages::Page::kStart); });
  for (QAction* view : commands_.views) {
    connect(view, &QAction::triggered, this,
            [this, view] { frame_.pages->showView(view->data().toString()); });
  }
  connect(commands_.findings, &QAction::triggered, frame_.findings, [this] {
    frame_.pages->turnTo(Pages::Page::kViews);
    frame_.findings->toggle();
  });
  frame_.findings->list()->addAction(commands_.findings);  // its key closes it, too
  commands_.verdict->setChecked(!frame_.findings->isFolded());
  connect(commands_.verdict, &QAction::triggered, frame_.findings,
          [this](bool inFront) { frame_.findings->setFolded(!inFront); });
  connect(frame_.findings, &Findings::foldedChanged, commands_.verdict,
          [this](bool folded) { commands_.verdict->setChecked(!folded); });
  connect(commands_.layouts, &QActionGroup::triggered, this,
          [this](const QAction* action) { setLayout(action->data().toString()); });
  connect(commands_.resetLayout, &QAction::triggered, this, [this] {
    frame_.docks.resetLayout();
    if (frame_.pages->page() == Pages::Page::kStart) {
      frame_.start->focusFirst();
    }
  });
  connect(commands_.undo, &QAction::triggered, this, [this] {
    if (session() != nullptr) {
      session()->state()->undoStack().undo();
    }
  });
  connect(commands_.redo, &QAction::triggered, this, [this] {
    if (session() != nullptr) {
      session()->state()->undoStack().redo();
    }
  });
  connect(commands_.copyJson, &QAction::triggered, frame_.panels.inspector,
          &InspectorPanel::copyJson);
  connect(commands_.find, &QAction::triggered, this, &MainWindow::find);
  connect(commands_.fit, &QAction::triggered, this, [this] {
    if (session() != nullptr && !session()->model()->extent().empty()) {
      session()->state()->setRange(session()->model()->extent());
    }
  });
  connect(&run_, &CurrentRun::follows, commands_.follow, &QAction::setChecked);
  // A click checks the button before the timeline has said what it does about it.
  connect(commands_.follow, &QAction::triggered, this, [this] {
    commands_.follow->setChecked(session() != nullptr && session()->state()->followsLive());
  });
  connect(&bar_->iteration(), &IterationBox::jumpRequested, this, [this](quint32 step) {
    run_.showStep(step);
    frame_.stages->currentView()->setFocus(Qt::OtherFocusReason);
  });
  connect(&appearance_, &Appearance::changed, this, &MainWindow::refreshTheme);
}

void MainWindow::setLayout(const QString& name) {
  frame_.docks.setLayout(name);
  // The view that the layout is for.
  frame_.pages->showView(name == QStringLiteral("analyse") ? QStringLiteral("timeline") : name);
}

// A panel with a filter of its own is searched by that; all else is found on the timeline.
void MainWindow::find() {
  for (QWidget* of = QApplication::focusWidget(); of != nullptr; of = of->parentWidget()) {
    const auto* dock = qobject_cast<QDockWidget*>(of);
    if (QLineEdit* line = dock == nullptr ? nullptr : filterLineIn(*dock); line != nullptr) {
      line->setFocus(Qt::ShortcutFocusReason);
      line->selectAll();
      return;
    }
  }
  if (session() != nullptr) {
    frame_.pages->showView(QStringLiteral("timeline"));
    frame_.views.timeline->find();
  }
}

// --- menus

void MainWindow::wireMenus() {
  QList<QAction*> docks;
  for (const QDockWidget* dock : frame_.docks.all()) {
    docks.append(dock->toggleViewAction());
  }
  QMenu* recent = commands_.fillMenus(*this, docks);
  connect(recent, &QMenu::aboutToShow, this, [this, recent] {
    recent->clear();
    for (const QString& path : settings_.recentRuns()) {
      if (QFileInfo::exists(path)) {
        recent
            ->addAction(QFileInfo(path).completeBaseName(), this, [this, path] { run_.open(path); })
            ->setToolTip(path);
      }
    }
    if (recent->isEmpty()) {
      recent->addAction(tr("No runs opened yet"))->setEnabled(false);
    }
  });
  new Preferences(*this, commands_, keys_, appearance_, settings_, *frame_.messages);
  auto* help = new Help(frame_, commands_, keys_, settings_, [this] { return run_.known(); }, this);
  connect(help, &Help::demoRequested, this, &MainWindow::runFirst);
  statusBar()->insertPermanentWidget(0, lookFor_->button());
  connect(commands_.palette, &QAction::triggered, this, &MainWindow::showPalette);
  connect(commands_.about, &QAction::triggered, this, &MainWindow::showAbout);
  connect(commands_.quit, &QAction::triggered, this, &QWidget::close);
}

void MainWindow::showPalette() {
  if (palette_ == nullptr) {
    palette_ = new CommandPalette(this);
  }
  palette_->open(
      paletteEntries({.commands = commands_,
                      .docks = frame_.docks,
                      .run = run_,
                      .experiments = experiments_,
                      .programs = build_.programs(),
                      .recentRuns = settings_.recentRuns(),
                      .runExperiment = [this](const QString& path) { runExperiment(path); }}));
}

void MainWindow::showAbout() {
  QMessageBox::about(this, tr("About Lockstep"),
                     tr("<b>Lockstep %1</b><p>A workbench for data-parallel training: it runs "
                        "real DDP experiments and shows every gradient bucket as it forms, "
                        "flies and lands on every rank.</p>")
                         .arg(QCoreApplication::applicationVersion()));
}

// --- what starts runs, and is being built perhaps

void MainWindow::wireBuild() {
  if (build_.programs().building) {
    frame_.panels.setup->setRank({}, tr("The buckets can be told when lockstep-rank is built."));
  }
  connect(&build_, &BuildWatch::changed, this, &MainWindow::takePrograms);
}

void MainWindow::takePrograms() {
  const Programs& programs = build_.programs();
  controller_.setPrograms(programs);
  if (!programs.building) {
    frame_.panels.setup->setRank(programs.rank);
    frame_.panels.hooks->setLockstep(programs.lockstep);
    launcher_.forgetRefusal();  // it may say that the build goes on
    const bool good = !programs.lockstep.isEmpty();
    frame_.messages->show(QStringLiteral("build"),
                          good ? MessageBar::Kind::kGood : MessageBar::Kind::kError,
                          good ? tr("Everything is built: runs can be started")
                               : tr("The build ended without lockstep; the terminal that opened "
                                    "the studio says why"));
  }
  refreshMachine();
  refresh();
}

// --- how things stand

void MainWindow::refresh() {
  const QString missing = reasonAgainstStarting(build_.programs());
  frame_.panels.setup->blockRun(missing);
  frame_.start->blockRecording(missing);
  frame_.findings->blockApply(missing);
  frame_.views.whatIf->blockRun(missing);
  const bool foreign =
      run_.known() && session()->model()->info().kind != trace::RunKind::kExperiment;
  frame_.panels.setup->setNote(
      !foreign ? QString()
      : session()->model()->info().kind == trace::RunKind::kSimulated
          ? tr("%1, which is open, is simulated: it has no experiment to edit. What is below is "
               "another one.")
                .arg(session()->name())
          : tr("%1, which is open, is a job of PyTorch: it has no experiment to "
               "edit. What is below is another one.")
                .arg(session()->name()));
  commands_.refresh({.programs = build_.programs(),
                     .session = session(),
                     .comesUp = !launcher_.comingUp().isEmpty(),
                     .anyRecentRun = !settings_.recentRuns().isEmpty()});
  lookFor_->setRun(run_.known() ? session()->model()->info().experimentToml : std::string());
  refreshTitle();
}

void MainWindow::refreshTitle() {
  if (const QString& run = launcher_.comingUp(); !run.isEmpty()) {
    setWindowTitle(tr("%1 – starting – Lockstep").arg(QFileInfo(run).completeBaseName()));
  } else if (session() != nullptr) {
    setWindowTitle(tr("%1 – %2 – Lockstep")
                       .arg(session()->name(), run_.known()
                                                   ? stateText(session()->model()->info().state)
                                                   : tr("opening")));
  } else {
    setWindowTitle(tr("Lockstep"));
  }
}

void MainWindow::refreshIteration() {
  if (session() == nullptr) {
    bar_->iteration().setIteration(std::nullopt, 0);
    return;
  }
  const RunModel& model = *session()->model();
  const auto done = static_cast<std::uint32_t>(model.stepCount(0));
  bar_->iteration().setIteration(session()->state()->iteration(),
                                 std::max(model.info().plannedSteps, done));
}

void MainWindow::refreshMachine() {
  frame_.start->setMachine(build_.programs(), frame_.views.timeline->rendererName());
}

void MainWindow::refreshTheme() {
  frame_.stages->setTheme(appearance_.theme());
  refreshMachine();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!frame_.panels.setup->mayDiscard()) {
    event->ignore();
    return;
  }
  frame_.docks.keep();
  run_.keep();
  QMainWindow::closeEvent(event);
}

}  // namespace lockstep::ui
