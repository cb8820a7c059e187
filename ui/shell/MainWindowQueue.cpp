#include <QFileInfo>

#include "engine/trace/RunFile.h"
#include "ui/panels/setup/SetupPanel.h"
#include "ui/shell/MainWindow.h"
#include "ui/shell/MessageBar.h"

// The queue of runs: the next one starts when the one before has ended, whatever that came to.
namespace lockstep::ui {

void MainWindow::wireQueue() {
  connect(&setup_->queue(), &RunQueue::startRequested, this, &MainWindow::startNextInQueue);
  const auto goOn = [this] {
    if (!controller_.busy()) {
      setup_->queue().runEnded();
    }
  };
  connect(&controller_, &RunController::ended, this, [this, goOn](const QString& run, int exitCode) {
    const bool stopped = exitCode == static_cast<int>(base::ExitCode::kInterrupted);
    if (exitCode != 0 && !stopped && setup_->queue().rowCount() > 0) {
      keepFailureInSight(run);
    }
    goOn();
  });
  connect(&controller_, &RunController::endedEarly, this, goOn);
}

void MainWindow::startNextInQueue(const QString& experiment) {
  const auto run = controller_.start(experiment);
  if (run.ok()) {
    runStarted(run.value());
    return;
  }
  const QString line = QString::fromStdString(run.error().message());
  runNotStarted(line);
  setup_->queue().putBack(experiment, line);
}

// The window goes on to the next run before anybody could have read why this one failed.
void MainWindow::keepFailureInSight(const QString& run) {
  const auto summary = trace::readRunSummary(run.toStdString());
  const QString name = summary.ok() ? QString::fromStdString(summary.value().info.name)
                                    : QFileInfo(run).completeBaseName();
  const QString failure = QString::fromStdString(
      summary.ok() ? summary.value().info.failure : summary.error().message());
  messages_->show(QStringLiteral("failed ") + run, MessageBar::Kind::kError,
                  failure.isEmpty() ? tr("%1 failed and gave no reason").arg(name)
                                    : tr("%1: %2").arg(name, failure),
                  {{tr("Open it"), [this, run] { openRun(run); }}});
}

}  // namespace lockstep::ui
