#include <QDockWidget>
#include <QTimer>
#include <QUndoStack>

#include "ui/panels/InspectorPanel.h"
#include "ui/panels/LogPanel.h"
#include "ui/panels/ProblemsPanel.h"
#include "ui/panels/RunsPanel.h"
#include "ui/panels/events/EventsPanel.h"
#include "ui/panels/statistics/StatisticsPanel.h"
#include "ui/shell/MainWindow.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RunReport.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/Stages.h"
#include "ui/shell/StatusReadout.h"
#include "ui/shell/StepStrip.h"
#include "ui/views/timeline/TimelineView.h"

// The one open run: what its news does to the panels, and what the window says of its end.
namespace lockstep::ui {
namespace {

const QString kFileMessage = QStringLiteral("file");

/// Behind "Stopped" and the like.
QString whenItEnded(const RunSession& session) {
  const auto last = session.lastStep();
  return last ? MainWindow::tr("after iteration %1").arg(*last)
              : MainWindow::tr("before the first iteration");
}

}  // namespace

void MainWindow::closeSession() {
  if (!session_) {
    return;
  }
  stages_->setRun({});
  inspector_->setRun(nullptr, nullptr);
  events_->setRun(nullptr, nullptr);
  statistics_->setRun(nullptr, nullptr);
  log_->setTimes({});
  status_->setSession(nullptr);
  strip_->end();
  session_.reset();
  sawLive_ = false;
  refreshIteration();
}

void MainWindow::takeSession(std::unique_ptr<RunSession> session) {
  log_->clear();
  problems_->clear();
  closeSession();  // what it cuts off is told beside the new run
  session_ = std::move(session);
  RunSession* run = session_.get();

  connect(run->model(), &RunModel::failed, this, [this, run](const QString& sentence) {
    reportProblem(true, sentence);
    messages_->show(kFileMessage, MessageBar::Kind::kError, sentence);
    if (run->model()->info().runId.empty()) {
      // The sender goes with the session: leave its signal first.
      QTimer::singleShot(0, this, [this, run] {
        if (session_.get() == run) {
          closeSession();
          showPage(Page::kStart);
          refreshCommands();
          refreshTitle();
        }
      });
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
      problems_->add(
          {row.severity == "error", row.rank, row.step, QString::fromStdString(row.text)});
    }
  });
  connect(run, &RunSession::startupChanged, this, [this](const StartupProgress& progress) {
    if (strip_->isHidden()) {
      strip_->begin(session_->model()->info().kind);
    }
    strip_->setProgress(progress);
  });
  connect(run, &RunSession::startupEnded, strip_, &StepStrip::end);
  connect(run, &RunSession::stateChanged, this, &MainWindow::runStateChanged);

  commands_->follow->setChecked(run->state()->followsLive());
  stages_->setRun(run->open());
  inspector_->setRun(run->model(), run->state());
  events_->setRun(run->model(), run->state());
  statistics_->setRun(run->model(), run->state());
  status_->setSession(run);
  runs_->setCurrentRun(run->path());
  refreshCommands();
  refreshTitle();
  refreshIteration();
}

void MainWindow::runStateChanged(trace::RunState state) {
  if (!session_->model()->isLive()) {
    // Later: the timeline has still to follow to the last iteration.
    QTimer::singleShot(0, session_->state(),
                       [state = session_->state()] { state->setFollowLive(false); });
  }
  const std::string& failure = session_->model()->info().failure;
  const bool observed = session_->model()->info().kind == trace::RunKind::kObserved;
  const MessageBar::Button repeat{observed ? tr("Run again…") : tr("Repeat"), [this] {
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
    case trace::RunState::kRunning:
      sawLive_ = true;
      break;
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
                        reportOf(*session_).sentence(tr("Stopped %1").arg(whenItEnded(*session_))),
                        {repeat});
      }
      break;
    case trace::RunState::kFailed:
      messages_->show(kEndMessage, MessageBar::Kind::kError,
                      failure.empty() ? tr("The run failed and gave no reason")
                                      : QString::fromStdString(failure),
                      {problems, repeat});
      break;
    case trace::RunState::kDiverged:
      messages_->show(kEndMessage, MessageBar::Kind::kError,
                      tr("Diverged: %1").arg(QString::fromStdString(failure)), {problems, repeat});
      break;
    case trace::RunState::kRecorderDied: {
      const QString sentence =
          tr("The recorder died %1: everything it had committed is here, the end of the run is "
             "not.")
              .arg(whenItEnded(*session_));
      // Nobody was left to write this into the run file.
      problems_->add({true, -1, session_->lastStep(), sentence});
      messages_->show(kEndMessage, MessageBar::Kind::kError, sentence, {problems, repeat});
      break;
    }
  }
  runs_->refresh();
  refreshCommands();
  refreshTitle();
}

}  // namespace lockstep::ui
