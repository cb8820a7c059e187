#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>
#include <QUrl>

#include "engine/base/ShellWords.h"
#include "engine/trace/RunFile.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/LogPanel.h"
#include "ui/panels/RunsPanel.h"
#include "ui/shell/JobEnding.h"
#include "ui/shell/MainWindow.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RecordDialog.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/StartPage.h"
#include "ui/shell/StepStrip.h"
#include "ui/shell/TraceImport.h"

// What is not of the engine: jobs of PyTorch that are recorded, and traces that are imported.
namespace lockstep::ui {
namespace {

QStringList localPaths(const QMimeData& data) {
  QStringList paths;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) {
      paths.append(url.toLocalFile());
    }
  }
  return paths;
}

bool isRun(const QString& path) {
  return path.endsWith(QStringLiteral(".lockstep"));
}

/// What a drop on the window asks for; at most one of both is filled.
struct Drop {
  QString run;         ///< to be opened
  QStringList traces;  ///< to be imported
};

Drop dropOf(const QMimeData& data) {
  Drop drop;
  for (const QString& path : localPaths(data)) {
    if (isRun(path)) {
      return {path, {}};
    }
    if (!path.endsWith(QStringLiteral(".toml"))) {  // an experiment, which the setup takes
      drop.traces.append(path);
    }
  }
  return drop;
}

}  // namespace

void MainWindow::wireJobs() {
  connect(commands_->record, &QAction::triggered, this, [this] { askJob(std::nullopt, {}); });
  connect(startPage_, &StartPage::recordRequested, commands_->record, &QAction::trigger);
  connect(&output_, &OutputFollower::grew, this, &MainWindow::logOutput);
  import_ = new TraceImport(programs_, *messages_, this);
  connect(commands_->importFiles, &QAction::triggered, this, [this] {
    importTraces(QFileDialog::getOpenFileNames(
        this, tr("Import traces"), QString(),
        tr("Traces of torch.profiler, dumps and logs (*.json *.gz *.pickle *.pkl *.log *.jsonl);;"
           "All files (*)")));
  });
  connect(commands_->importFolder, &QAction::triggered, this, [this] {
    const QString folder = QFileDialog::getExistingDirectory(this, tr("Import a folder of traces"));
    importTraces(folder.isEmpty() ? QStringList() : QStringList{folder});
  });
  connect(import_, &TraceImport::imported, this,
          [this](const QString& run, const QString& leftOut) {
            openRun(run);
            runs_->refresh();
            if (!leftOut.isEmpty()) {
              messages_->show(QStringLiteral("import"), MessageBar::Kind::kInfo,
                              tr("Imported; %1.").arg(leftOut));
            }
          });
  connect(import_, &TraceImport::failed, this,
          [this](const QString& sentence) { reportProblem(true, sentence); });
}

void MainWindow::askJob(const std::optional<JobRequest>& job, const QString& hint) {
  auto* dialog =
      new RecordDialog(settings_.recentJobs(), paths_.runs, reasonAgainstStarting(programs_), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  if (job) {
    dialog->fill(*job, hint);
  }
  connect(dialog, &QDialog::accepted, this, [this, dialog] { startJob(dialog->request()); });
  // Keys are the window's again, also where no window manager sees to it.
  connect(dialog, &QDialog::finished, this, [this] { activateWindow(); });
  dialog->open();
}

void MainWindow::startJob(const JobRequest& job) {
  const auto start = checkedJob(job);
  const auto run = start.ok() ? controller_.record(start.value()) : start.error();
  started(run);
  if (!run.ok()) {
    messages_->show(kStartMessage, MessageBar::Kind::kError,
                    QString::fromStdString(run.error().message()),
                    {{tr("Change the job…"), [this, job] { askJob(job, {}); }}});
    return;
  }
  JobRequest kept = job;
  if (!start.value().runFile.isEmpty()) {
    kept.run.clear();  // its file is there now, and is not written again
  }
  settings_.addRecentJob(kept);
  job_ = job;
  jobStopped_ = false;
  strip_->begin(trace::RunKind::kObserved);
  comingUp_->setSentence(
      tr("The command has started. Its timeline appears when a process of it attaches, which is "
         "when it makes its DistributedDataParallel; what it writes is in the log."));
  output_.follow(controller_.outputOf(run.value()));
}

void MainWindow::logOutput(const QStringList& lines) {
  std::vector<trace::LogRow> rows;
  for (const QString& line : lines) {
    rows.emplace_back().text = line.toStdString();
  }
  log_->append(rows);
}

void MainWindow::jobEndedEarly(const QString& path, int exitCode) {
  const JobRequest job = *job_;
  job_.reset();
  output_.finish();
  const QString why = whyNothingWasRecorded(output_.lines(), exitCode, jobStopped_);
  output_.stop();
  pendingRun_.clear();
  strip_->end();
  if (!session_) {
    showPage(Page::kStart);
    logDock_->show();
    logDock_->raise();
  }
  if (!jobStopped_) {
    reportProblem(true, why);
  }
  messages_->show(
      QStringLiteral("failed ") + path,
      jobStopped_ ? MessageBar::Kind::kInfo : MessageBar::Kind::kError, why + '.',
      {{tr("Change the job…"), [this, job] { askJob(job, {}); }}, {tr("Show its output"), [this] {
                                                                     logDock_->show();
                                                                     logDock_->raise();
                                                                   }}});
  refreshCommands();
  refreshTitle();
}

void MainWindow::repeatRun(const QString& path) {
  const auto summary = trace::readRunSummary(path.toStdString());
  if (!summary.ok() || summary.value().info.kind != trace::RunKind::kObserved) {
    started(controller_.repeat(path));
    return;
  }
  // Variables are not in the run file, and how its models were found neither.
  const trace::RunInfo& info = summary.value().info;
  const auto folder = info.environment.find("folder");
  JobRequest job;
  job.command = QString::fromStdString(info.command);
  job.folder =
      folder == info.environment.end() ? QDir::homePath() : QString::fromStdString(folder->second);
  QString hint = tr("The command of %1. Its variables are not in the run file.")
                     .arg(QString::fromStdString(info.name));
  for (const JobRequest& last : settings_.recentJobs()) {
    JobRequest plain = last;
    plain.environment.clear();  // some want to be written again
    const auto start = checkedJob(plain);
    if (!start.ok()) {
      continue;
    }
    std::vector<std::string> words;
    for (const QString& word : start.value().words) {
      words.push_back(word.toStdString());
    }
    if (base::shellLine(words) == info.command &&
        (folder == info.environment.end() || start.value().folder == job.folder)) {
      job = last;
      hint = tr("The command of %1, as it was recorded from here last.")
                 .arg(QString::fromStdString(info.name));
      break;
    }
  }
  askJob(job, hint);
}

void MainWindow::importTraces(const QStringList& paths) {
  if (paths.isEmpty()) {
    return;
  }
  const auto run = controller_.freshRunPath(QFileInfo(paths.front()).completeBaseName());
  if (!run.ok()) {
    runNotStarted(QString::fromStdString(run.error().message()));
    return;
  }
  import_->start(paths, run.value());
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const Drop drop = dropOf(*event->mimeData());
  if (!drop.run.isEmpty() || !drop.traces.isEmpty()) {
    event->acceptProposedAction();
  }
}

void MainWindow::dropEvent(QDropEvent* event) {
  const Drop drop = dropOf(*event->mimeData());
  if (!drop.run.isEmpty()) {
    event->acceptProposedAction();
    openRun(drop.run);
  } else if (!drop.traces.isEmpty()) {
    event->acceptProposedAction();
    importTraces(drop.traces);
  }
}

}  // namespace lockstep::ui
