#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "engine/base/Result.h"
#include "engine/diagnosis/Finding.h"
#include "engine/experiment/Experiment.h"
#include "ui/shell/JobRequest.h"
#include "ui/shell/OutputFollower.h"

class QDialog;

namespace lockstep::ui {

class CurrentRun;
struct Frame;
class RunController;
class Settings;

/// Starts runs: of experiments, from the queue, again, and jobs of PyTorch that are recorded.
/// Follows the last one until its file is there and is opened, and says what came of the others.
/// [ui-thread]
class Launcher : public QObject {
  Q_OBJECT

 public:
  Launcher(Frame& frame, CurrentRun& run, RunController& controller, Settings& settings,
           QObject* parent = nullptr);

  /// The runs of a sweep go one after the other through the queue of the setup.
  void start(const QString& experiment);
  /// Starts a run again; of a job of PyTorch, asks what of its command is to be changed.
  void repeat(const QString& run);
  /// Asks what of a run is to be changed, and starts it so; `run` then stands beside the new one in
  /// the comparison.
  void runAgain(const QString& run);
  /// Starts a copy of the open run's experiment with these settings, beside which the open run then
  /// stands in the comparison; while a run of the studio goes on, it waits in the queue.
  void startWith(const std::vector<diagnosis::Setting>& settings);
  /// Starts an experiment that stands in no file yet, in the same way; `begun` is told the path of
  /// its run when that begins, now or later. It must live as long as this.
  void startExperiment(const experiment::Experiment& experiment,
                       std::function<void(const QString& run)> begun);
  /// Asks for a job of PyTorch: this one at first, or the last. `before`: the run that its run is
  /// to be compared with.
  void askJob(const std::optional<JobRequest>& job = {}, const QString& hint = {},
              const QString& before = {});
  /// Stops the run that comes up, else the open one.
  void stop();

  /// The run that comes up: its file is not there yet; empty: none does.
  [[nodiscard]] const QString& comingUp() const { return comingUp_; }
  /// Takes back what was said of a run that could not be started.
  void forgetRefusal();

 signals:
  /// Another run comes up, or none.
  void changed();

 private:
  void startNext(const QString& experiment);
  /// Starts a file, with whose run `before` is then compared, or queues it; empty: nothing.
  void startBeside(const QString& file, const QString& before);
  void tellBegun(const QString& file, const base::Result<QString>& run);
  [[nodiscard]] QString drafts() const;
  void startJob(const JobRequest& job, const QString& before);
  bool started(const base::Result<QString>& run);
  void begin(const QString& run);
  void refuse(const QString& line);
  void openDialog(QDialog& dialog);
  void appeared(const QString& run);
  void endedEarly(const QString& run, const QString& line, int exitCode);
  void jobEndedEarly(int exitCode);
  void giveUp();
  void logOutput(const QStringList& lines);
  void keepFailureInSight(const QString& run);

  Frame& frame_;
  CurrentRun& run_;
  RunController& controller_;
  Settings& settings_;
  QString comingUp_;
  std::map<QString, std::function<void(const QString& run)>> begun_;  // by experiment file
  std::map<QString, QString> besides_;  // of queued files: the runs theirs are compared with
  QString comparedWith_;                // the run that the one which comes up is to be compared with
  std::optional<JobRequest> job_;  // the same, where it is a job of PyTorch
  bool jobStopped_ = false;
  OutputFollower output_;  // of it
};

}  // namespace lockstep::ui
