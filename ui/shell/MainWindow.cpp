#include "ui/shell/MainWindow.h"

#include <QCloseEvent>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QFileInfo>
#include <QMimeData>
#include <QStackedWidget>
#include <QStatusBar>

#include "ui/panels/InspectorPanel.h"
#include "ui/panels/LogPanel.h"
#include "ui/panels/ProblemsPanel.h"
#include "ui/panels/RunsPanel.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RunReport.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/StartPage.h"
#include "ui/shell/StatusReadout.h"
#include "ui/shell/StepStrip.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::ui {
namespace {

// Keys of the messages above the stage.
const QString kStartMessage = QStringLiteral("start");
const QString kEndMessage = QStringLiteral("end");
const QString kFileMessage = QStringLiteral("file");

QStringList runFilesOf(const QMimeData* data) {
  QStringList files;
  for (const QUrl& url : data->urls()) {
    if (url.isLocalFile() && url.toLocalFile().endsWith(QStringLiteral(".lockstep"))) {
      files.append(url.toLocalFile());
    }
  }
  return files;
}

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
      programs_(findPrograms(paths_.programs)),
      controller_(programs_, paths_.runs),
      experiments_(listExperiments(paths_.experiments)) {
  setObjectName("lockstepStudio");
  setAcceptDrops(true);
  buildStage();
  buildDocks();
  commands_ = std::make_unique<Commands>(this, *timeline_);
  buildToolBar();
  wireCommands();
  wirePanels();
  applyTheme();
  restoreWindow();
  refreshChecks();
  refreshCommands();
  refreshTitle();
  refreshIteration();
  showStage(Stage::kStart);
}

MainWindow::~MainWindow() { closeSession(); }

void MainWindow::openRun(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  if (session_ && session_->path() == absolute && !session_->model()->info().runId.empty()) {
    showStage(Stage::kTimeline);
    return;
  }
  messages_->dismissAll();
  settings_.addRecentRun(absolute);
  takeSession(std::make_unique<RunSession>(absolute));
  showStage(Stage::kTimeline);
  timeline_->setFocus(Qt::OtherFocusReason);
}

void MainWindow::runExperiment(const QString& path) {
  for (int row = 0; row < experimentBox_->count(); ++row) {
    if (experimentBox_->itemData(row).toString() == path) {
      experimentBox_->setCurrentIndex(row);
    }
  }
  settings_.setExperiment(path);
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
    const QString line = QString::fromStdString(run.error().message());
    reportProblem(true, line);
    messages_->show(kStartMessage, MessageBar::Kind::kError, line);
    return;
  }
  closeSession();
  pendingRun_ = run.value();
  problems_->model().clear();
  log_->clear();
  strip_->begin();
  showStage(Stage::kComingUp);
  refreshCommands();
  refreshTitle();
}

void MainWindow::stopCurrent() {
  if (!pendingRun_.isEmpty()) {
    controller_.stop(pendingRun_);
  } else if (session_ && session_->model()->isLive()) {
    controller_.stop(session_->path());
  }
}

void MainWindow::repeatRun(const QString& path) { started(controller_.repeat(path)); }

void MainWindow::runAppeared(const QString& path) {
  if (path == pendingRun_) {
    pendingRun_.clear();
    settings_.addRecentRun(path);
    takeSession(std::make_unique<RunSession>(path));
    if (stage_ == Stage::kComingUp) {  // the user may have gone back to the start page
      showStage(Stage::kTimeline);
      timeline_->setFocus(Qt::OtherFocusReason);
    }
  }
  runs_->refresh();
}

void MainWindow::runEndedEarly(const QString& path, const QString& line, int exitCode) {
  const QString said =
      line.isEmpty() ? tr("lockstep run ended with exit code %1 and said nothing").arg(exitCode)
                     : line;
  reportProblem(true, said);
  messages_->show(kStartMessage, MessageBar::Kind::kError, said);
  QFile output(QFileInfo(path).absolutePath() + '/' + QFileInfo(path).completeBaseName() + ".log");
  if (output.open(QIODevice::ReadOnly)) {
    std::vector<trace::LogRow> rows;
    for (const QByteArray& text : output.readAll().split('\n')) {
      if (!text.trimmed().isEmpty()) {
        trace::LogRow row;
        row.text = text.toStdString();
        rows.push_back(row);
      }
    }
    log_->append(rows);
  }
  if (path == pendingRun_) {
    pendingRun_.clear();
    strip_->end();
    if (!session_) {
      showStage(Stage::kStart);
    }
  }
  refreshCommands();
  refreshTitle();
}

void MainWindow::closeSession() {
  if (!session_) {
    return;
  }
  timeline_->setModel(nullptr);
  timeline_->setState(nullptr);
  inspector_->setRun(nullptr, nullptr);
  log_->setTimes({});
  status_->setSession(nullptr);
  strip_->end();
  session_.reset();
  sawLive_ = false;
}

void MainWindow::takeSession(std::unique_ptr<RunSession> session) {
  closeSession();
  log_->clear();
  problems_->model().clear();
  session_ = std::move(session);
  RunSession* run = session_.get();

  connect(run->model(), &RunModel::failed, this, [this, run](const QString& sentence) {
    reportProblem(true, sentence);
    messages_->show(kFileMessage, MessageBar::Kind::kError, sentence);
    if (run->model()->info().runId.empty()) {
      // The sender goes with the session: leave its signal first.
      QMetaObject::invokeMethod(
          this,
          [this, run] {
            if (session_.get() == run) {
              closeSession();
              showStage(Stage::kStart);
              refreshCommands();
              refreshTitle();
            }
          },
          Qt::QueuedConnection);
    }
  });
  connect(run->model(), &RunModel::infoChanged, this, [this] {
    log_->setWorldSize(session_->model()->rankCount());
    refreshTitle();
    refreshCommands();
  });
  connect(run->model(), &RunModel::changed, this, &MainWindow::refreshIteration);
  connect(run->state(), &ViewState::iterationChanged, this, &MainWindow::refreshIteration);
  connect(run->state(), &ViewState::selectionChanged, this, &MainWindow::refreshCommands);
  connect(run->state(), &ViewState::followLiveChanged, commands_->follow, &QAction::setChecked);
  connect(&run->state()->undoStack(), &QUndoStack::indexChanged, this,
          &MainWindow::refreshCommands);
  log_->setTimes([model = run->model()](std::uint64_t ticks) {
    return model->spanCount() > 0 ? std::optional(model->toNs(ticks)) : std::nullopt;
  });
  connect(run, &RunSession::logGrew, log_, &LogPanel::append);
  connect(run, &RunSession::problemsGrew, this, [this](std::span<const trace::ProblemRow> rows) {
    for (const trace::ProblemRow& row : rows) {
      problems_->model().add({row.severity == "error", row.rank, row.step,
                              QString::fromStdString(row.text)});
    }
  });
  connect(run, &RunSession::startupChanged, this, [this](const StartupProgress& progress) {
    if (strip_->isHidden()) {
      strip_->begin();
    }
    strip_->setProgress(progress);
  });
  connect(run, &RunSession::startupEnded, strip_, &StepStrip::end);
  connect(run, &RunSession::stateChanged, this, &MainWindow::runStateChanged);

  commands_->follow->setChecked(run->state()->followsLive());
  timeline_->setState(run->state());
  timeline_->setModel(run->model());
  inspector_->setRun(run->model(), run->state());
  status_->setSession(run);
  runs_->setCurrentRun(run->path());
  refreshCommands();
  refreshTitle();
  refreshIteration();
}

void MainWindow::runStateChanged(trace::RunState state) {
  if (!session_->model()->isLive()) {
    // Later: the timeline has still to follow to the last iteration.
    QMetaObject::invokeMethod(
        session_->state(), [state = session_->state()] { state->setFollowLive(false); },
        Qt::QueuedConnection);
  }
  const std::string& failure = session_->model()->info().failure;
  const MessageBar::Button repeat{tr("Repeat"), [this] {
                                    if (session_) repeatRun(session_->path());
                                  }};
  const MessageBar::Button slowest{tr("Show slowest iteration"), [this] {
                                     if (!session_) return;
                                     if (const auto step = session_->slowestStep()) {
                                       session_->showStep(*step);
                                     }
                                   }};
  const MessageBar::Button problems{tr("Show problems"), [this] {
                                      problemsDock_->show();
                                      problemsDock_->raise();
                                    }};
  switch (state) {
    case trace::RunState::kStarting:
    case trace::RunState::kRunning: sawLive_ = true; break;
    case trace::RunState::kFinished:
      if (sawLive_) {
        messages_->show(kEndMessage, MessageBar::Kind::kGood,
                        reportOf(*session_).sentence(tr("Finished")), {slowest, repeat});
        connect(session_.get(), &RunSession::analysed, this,
                [this, slowest, repeat](const RunFigures& figures) {
                  if (messages_->shows(kEndMessage)) {
                    messages_->show(kEndMessage, MessageBar::Kind::kGood,
                                    reportOf(*session_, &figures).sentence(tr("Finished")),
                                    {slowest, repeat});
                  }
                });
        session_->analyse();
      }
      break;
    case trace::RunState::kStopped:
      if (sawLive_) {
        messages_->show(kEndMessage, MessageBar::Kind::kInfo,
                        reportOf(*session_).sentence(
                            tr("Stopped after %1 iterations").arg(session_->model()->stepCount(0))),
                        {repeat});
      }
      break;
    case trace::RunState::kFailed:
      messages_->show(kEndMessage, MessageBar::Kind::kError,
                      failure.empty() ? tr("The run failed and gave no reason")
                                      : QString::fromStdString(failure),
                      {problems, repeat});
      break;
    case trace::RunState::kRecorderDied: {
      const auto last = session_->lastStep();
      const QString sentence =
          tr("The recorder died %1: everything it had committed is here, the end of the run is "
             "not.")
              .arg(last ? tr("after iteration %1").arg(*last) : tr("before the first iteration"));
      // Nobody was left to write this into the run file.
      problems_->model().add({true, -1, last, sentence});
      messages_->show(kEndMessage, MessageBar::Kind::kError, sentence, {problems, repeat});
      break;
    }
  }
  runs_->refresh();
  refreshCommands();
  refreshTitle();
}

void MainWindow::reportProblem(bool error, const QString& text) {
  problems_->model().add({error, -1, std::nullopt, text});
}

void MainWindow::closeEvent(QCloseEvent* event) {
  settings_.setWindow(saveGeometry(), stage_ == Stage::kStart ? timelineDocks_ : saveState());
  QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!runFilesOf(event->mimeData()).isEmpty()) {
    event->acceptProposedAction();
  }
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QStringList files = runFilesOf(event->mimeData());
  if (!files.isEmpty()) {
    event->acceptProposedAction();
    openRun(files.front());
  }
}

}  // namespace lockstep::ui
