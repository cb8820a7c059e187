#include "ui/shell/Launcher.h"

#include <QFileInfo>
#include <QMainWindow>
#include <utility>

#include "engine/experiment/Parse.h"
#include "engine/trace/RunFile.h"
#include "ui/panels/LocalFiles.h"
#include "ui/panels/runs/RunLabel.h"
#include "ui/panels/setup/RunAgainDialog.h"
#include "ui/panels/setup/RunFiles.h"
#include "ui/shell/CurrentRun.h"
#include "ui/shell/Frame.h"
#include "ui/shell/JobEnding.h"
#include "ui/shell/RecordDialog.h"
#include "ui/shell/RepeatedJob.h"
#include "ui/shell/RunController.h"
#include "ui/shell/RunSession.h"

namespace lockstep::ui {
namespace {

const QString kStartMessage = QStringLiteral("start");

QString failedMessage(const QString& run) {
  return QStringLiteral("failed ") + run;
}

}  // namespace

// Note [A run comes up]
//
// A run is a process of its own, and for a while there is no file of it to open. One at a time
// comes up here (comingUp_), the last that was started; others that were started before go on
// unseen.
//
//   start, repeat, startJob, the queue ─▶ RunController ─▶ process
//       │ begin: the open run is closed, strip and page say that one comes up
//       │
//       ├─ appeared: its file says what it is ─▶ CurrentRun::take, and followed from the file on
//       ├─ endedEarly: no file ─▶ its last line is the reason; giveUp
//       └─ ended, later ─▶ the queue's next; a failure stays in sight, for the window goes on
//
//   of a job (job_) also: what it prints is read from its output meanwhile (OutputFollower), for a
//   run file comes only when a process of it attaches
//
// The queue goes on when no process of the studio is left, one that was started by hand included.
Launcher::Launcher(Frame& frame, CurrentRun& run, RunController& controller, Settings& settings,
                   QObject* parent)
    : QObject(parent), frame_(frame), run_(run), controller_(controller), settings_(settings) {
  connect(&output_, &OutputFollower::grew, this, &Launcher::logOutput);
  connect(&controller, &RunController::appeared, this, &Launcher::appeared);
  connect(&controller, &RunController::endedEarly, this, &Launcher::endedEarly);
  connect(&controller, &RunController::ended, frame.panels.runs, &RunsPanel::refresh);
  connect(&controller, &RunController::stopFailed, this, [this](const QString& sentence) {
    frame_.panels.problems->report(false, sentence);
    frame_.messages->show("stop", MessageBar::Kind::kWarning, sentence);
  });
  // The queue: the next one starts when the one before has ended, whatever that came to.
  connect(&frame.panels.setup->queue(), &RunQueue::startRequested, this, &Launcher::startNext);
  const auto goOn = [this] {
    if (!controller_.busy()) {
      frame_.panels.setup->queue().runEnded();
    }
  };
  connect(&controller, &RunController::ended, this, [this, goOn](const QString& run, int exitCode) {
    const bool stopped = exitCode == static_cast<int>(base::ExitCode::kInterrupted);
    if (exitCode != 0 && !stopped && frame_.panels.setup->queue().rowCount() > 0) {
      keepFailureInSight(run);
    }
    goOn();
  });
  connect(&controller, &RunController::endedEarly, this, goOn);
}

void Launcher::start(const QString& experiment) {
  if (!experiment::parseFile(experiment.toStdString()).sweep.empty()) {
    frame_.docks.bring(frame_.panels.setup);
    frame_.panels.setup->openAndRun(experiment);
    return;
  }
  started(controller_.start(experiment));
}

void Launcher::startNext(const QString& experiment) {
  const auto run = controller_.start(experiment);
  if (run.ok()) {
    tellBegun(experiment, run);
    begin(run.value());
    if (const auto beside = besides_.extract(experiment)) {
      comparedWith_ = beside.mapped();
    }
    return;
  }
  const QString line = QString::fromStdString(run.error().message());
  refuse(line);
  frame_.panels.setup->queue().putBack(experiment, line);
}

void Launcher::startWith(const std::vector<diagnosis::Setting>& settings) {
  if (run_.session() == nullptr) {
    return;
  }
  std::vector<experiment::ExperimentText::Pair> keys;
  for (const diagnosis::Setting& setting : settings) {
    keys.emplace_back(setting.key, setting.value);
  }
  startBeside(writeChanged(run_.session()->model()->info().experimentToml, keys, drafts(),
                           [this](const QString& sentence) { refuse(sentence); }),
              run_.session()->path());
}

void Launcher::startExperiment(const experiment::Experiment& experiment,
                               std::function<void(const QString& run)> begun) {
  const QString file =
      writeExperiment(experiment, drafts(), [this](const QString& sentence) { refuse(sentence); });
  begun_[file] = std::move(begun);
  startBeside(file, run_.session() == nullptr ? QString() : run_.session()->path());
}

QString Launcher::drafts() const {
  return frame_.panels.runs->folder() + QStringLiteral("/drafts");
}

void Launcher::startBeside(const QString& file, const QString& before) {
  if (file.isEmpty()) {
    begun_.erase(file);
    return;
  }
  if (controller_.busy()) {
    besides_[file] = before;
    frame_.panels.setup->queue().add(file);
    frame_.say(tr("%1 is queued: it starts when this run has ended")
                   .arg(QFileInfo(file).completeBaseName()));
    return;
  }
  const auto run = controller_.start(file);
  tellBegun(file, run);
  if (started(run)) {
    comparedWith_ = before;
  }
}

/// Who started a file by startExperiment() is told, once.
void Launcher::tellBegun(const QString& file, const base::Result<QString>& run) {
  const auto told = begun_.extract(file);
  if (told && run.ok()) {
    told.mapped()(run.value());
  }
}

bool Launcher::started(const base::Result<QString>& run) {
  // A start by hand takes old messages away. The queue's next one (startNext) leaves them: one may
  // say why the run before it failed.
  frame_.messages->dismissAll();
  if (run.ok()) {
    begin(run.value());
  } else {
    refuse(QString::fromStdString(run.error().message()));
  }
  return run.ok();
}

void Launcher::refuse(const QString& line) {
  frame_.panels.problems->report(true, line);
  frame_.messages->show(kStartMessage, MessageBar::Kind::kError, line);
}

void Launcher::forgetRefusal() {
  frame_.messages->dismiss(kStartMessage);
}

void Launcher::begin(const QString& run) {
  frame_.panels.setup->queue().runStarted();
  forgetRefusal();
  run_.close();
  comingUp_ = run;
  comparedWith_.clear();
  job_.reset();
  output_.stop();
  frame_.panels.problems->clear();
  frame_.panels.log->clear();
  frame_.strip->begin();
  frame_.pages->beginComingUp(
      tr("The run is coming up. Its timeline appears with the first iteration."));
  emit changed();
}

void Launcher::appeared(const QString& run) {
  if (run == comingUp_) {
    comingUp_.clear();
    job_.reset();
    output_.stop();  // from here on the run file has it
    frame_.pages->endComingUp();
    run_.take(run);
    if (!comparedWith_.isEmpty()) {
      frame_.views.compare->setBaseline(comparedWith_);
      run_.offerComparison(comparedWith_);
    }
    if (frame_.pages->page() == Pages::Page::kComingUp) {  // not gone back to the start page
      frame_.pages->turnTo(Pages::Page::kViews);
    }
  }
  frame_.panels.runs->refresh();
}

void Launcher::endedEarly(const QString& run, const QString& line, int exitCode) {
  if (run == comingUp_ && job_) {
    jobEndedEarly(exitCode);
    return;
  }
  const QString said =
      line.isEmpty() ? tr("lockstep run ended with exit code %1 and said nothing").arg(exitCode)
                     : line;
  frame_.panels.problems->report(true, said);
  frame_.messages->show(failedMessage(run), MessageBar::Kind::kError, said);
  // What would have been in the run file.
  OutputFollower all;
  connect(&all, &OutputFollower::grew, this, &Launcher::logOutput);
  all.follow(fileBeside(run, ".log"));
  all.finish();
  if (run == comingUp_) {
    giveUp();
  }
  emit changed();
}

void Launcher::giveUp() {
  comingUp_.clear();
  frame_.pages->endComingUp();
  frame_.strip->end();
  if (run_.session() == nullptr) {
    frame_.pages->turnTo(Pages::Page::kStart);
  }
}

// The window goes on to the next run before anybody could have read why this one failed.
void Launcher::keepFailureInSight(const QString& run) {
  const auto summary = trace::readRunSummary(run.toStdString());
  const QString name = summary.ok() ? QString::fromStdString(summary.value().info.name)
                                    : QFileInfo(run).completeBaseName();
  const QString failure = QString::fromStdString(summary.ok() ? summary.value().info.failure
                                                              : summary.error().message());
  frame_.messages->show(failedMessage(run), MessageBar::Kind::kError,
                        failure.isEmpty() ? tr("%1 failed and gave no reason").arg(name)
                                          : tr("%1: %2").arg(name, failure),
                        {{tr("Open it"), [this, run] { run_.open(run); }}});
}

void Launcher::stop() {
  if (!comingUp_.isEmpty()) {
    jobStopped_ = true;
    controller_.stop(comingUp_);
  } else if (run_.session() != nullptr && run_.session()->model()->isLive()) {
    controller_.stop(run_.session()->path());
  }
}

void Launcher::repeat(const QString& run) {
  const auto summary = trace::readRunSummary(run.toStdString());
  if (!summary.ok() || summary.value().info.kind != trace::RunKind::kObserved) {
    started(controller_.repeat(run));
    return;
  }
  const RepeatedJob again = repeatedJob(summary.value().info, settings_.recentJobs());
  askJob(again.job, again.hint, run);
}

void Launcher::runAgain(const QString& run) {
  const auto summary = trace::readRunSummary(run.toStdString());
  if (summary.ok() && summary.value().info.kind == trace::RunKind::kObserved) {
    repeat(run);
    return;
  }
  const auto info = repeatable(run);
  if (!info.ok()) {
    refuse(QString::fromStdString(info.error().message()));
    return;
  }
  auto* dialog = new RunAgainDialog(info.value().experimentToml,
                                    shownName(run.toStdString(), info.value().name), {},
                                    reasonAgainstStarting(controller_.programs()), &frame_.window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this, [this, dialog, run] {
    startBeside(dialog->write(drafts(), [this](const QString& sentence) { refuse(sentence); }),
                run);
  });
  openDialog(*dialog);
}

/// Keys are the window's again when it closes, also where no window manager sees to it.
void Launcher::openDialog(QDialog& dialog) {
  connect(&dialog, &QDialog::finished, &frame_.window, &QWidget::activateWindow);
  dialog.open();
}

void Launcher::askJob(const std::optional<JobRequest>& job, const QString& hint,
                      const QString& before) {
  auto* dialog = new RecordDialog(settings_.recentJobs(), frame_.panels.runs->folder(),
                                  reasonAgainstStarting(controller_.programs()), &frame_.window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  if (job) {
    dialog->fill(*job, hint);
  }
  connect(dialog, &QDialog::accepted, this,
          [this, dialog, before] { startJob(dialog->request(), before); });
  openDialog(*dialog);
}

void Launcher::startJob(const JobRequest& job, const QString& before) {
  const auto start = checkedJob(job);
  const auto run = start.ok() ? controller_.record(start.value()) : start.error();
  if (!started(run)) {
    frame_.messages->show(
        kStartMessage, MessageBar::Kind::kError, QString::fromStdString(run.error().message()),
        {{tr("Change the job…"), [this, job, before] { askJob(job, {}, before); }}});
    return;
  }
  comparedWith_ = before;
  JobRequest kept = job;
  if (!start.value().runFile.isEmpty()) {
    kept.run.clear();  // its file is there now, and is not written again
  }
  settings_.addRecentJob(kept);
  job_ = job;
  jobStopped_ = false;
  frame_.strip->begin(trace::RunKind::kObserved);
  frame_.pages->beginComingUp(
      tr("The command has started. Its timeline appears when a process of it attaches, which is "
         "when it makes its DistributedDataParallel; what it writes is in the log."));
  output_.follow(controller_.outputOf(run.value()));
}

void Launcher::jobEndedEarly(int exitCode) {
  const QString message = failedMessage(comingUp_);
  const JobRequest job = *std::exchange(job_, std::nullopt);
  const QString before = comparedWith_;
  output_.finish();
  const QString why = whyNothingWasRecorded(output_.lines(), exitCode, jobStopped_);
  output_.stop();
  giveUp();
  const auto showLog = [this] { frame_.docks.bring(frame_.panels.log); };
  if (run_.session() == nullptr) {
    showLog();
  }
  if (!jobStopped_) {
    frame_.panels.problems->report(true, why);
  }
  frame_.messages->show(message, jobStopped_ ? MessageBar::Kind::kInfo : MessageBar::Kind::kError,
                        why + '.',
                        {{tr("Change the job…"), [this, job, before] { askJob(job, {}, before); }},
                         {tr("Show its output"), showLog}});
  emit changed();
}

void Launcher::logOutput(const QStringList& lines) {
  std::vector<trace::LogRow> rows;
  for (const QString& line : lines) {
    rows.emplace_back().text = line.toStdString();
  }
  frame_.panels.log->append(rows);
}

}  // namespace lockstep::ui
