#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <map>

#include "engine/base/Result.h"
#include "engine/trace/RunFile.h"
#include "ui/shell/DetachedProcess.h"
#include "ui/shell/JobRequest.h"
#include "ui/shell/Programs.h"

namespace lockstep::ui {

/// Starts and stops runs through the `lockstep` program. A run is a detached process that
/// writes its run file; the studio only watches. [ui-thread]
class RunController : public QObject {
  Q_OBJECT

 public:
  RunController(Programs programs, QString runsFolder, QObject* parent = nullptr);

  /// What starts and stops runs from now on.
  void setPrograms(const Programs& programs) { programs_ = programs; }
  [[nodiscard]] const Programs& programs() const { return programs_; }

  /// Starts the experiment of `file` and returns the run file's path, which does not exist yet:
  /// `appeared` follows, or `endedEarly`. Errors: no `lockstep` program, or not built
  /// yet; folder not writable.
  base::Result<QString> start(const QString& file);

  /// Starts again what a run file holds: the resolved experiment, not the file it came from,
  /// which may have changed since. Error: it holds none, being of a job that was only recorded.
  base::Result<QString> repeat(const QString& runPath);

  /// Starts a job of PyTorch under `lockstep record`. As of `start`, but the run file can be opened
  /// once a process of the job has attached. Errors: as there; the run's own file is taken.
  base::Result<QString> record(const JobStart& job);

  /// Returns a path in the runs folder that nothing has taken yet. Error: not writable.
  [[nodiscard]] base::Result<QString> freshRunPath(const QString& name) const;

  /// Ends a run in order: through `lockstep stop`, or by interrupting a start-up that has no
  /// run file yet. What goes wrong comes as `stopFailed`.
  void stop(const QString& runPath);

  /// Returns whether this studio started `runPath` and it has not ended.
  [[nodiscard]] bool owns(const QString& runPath) const { return children_.contains(runPath); }

  /// Where the output of a run goes that this studio started and that goes on; empty of others.
  [[nodiscard]] QString outputOf(const QString& runPath) const;

  /// Whether a run that this studio started goes on.
  [[nodiscard]] bool busy() const { return !children_.empty(); }

 signals:
  /// The run file exists and can be opened.
  void appeared(const QString& runPath);
  /// It ended without a run file; `line` is the last one it printed.
  void endedEarly(const QString& runPath, const QString& line, int exitCode);
  void ended(const QString& runPath, int exitCode);
  void stopFailed(const QString& sentence);

 private:
  struct Child {
    DetachedProcess process;
    QString outputPath;
    bool appeared = false;
  };

  base::Result<QString> launchRun(const QString& experiment, const QString& runPath);
  base::Result<QString> launch(const QStringList& arguments, const QString& runPath,
                               const QString& output, const DetachedProcess::Place& place);
  void look();

  Programs programs_;
  QString runsFolder_;
  std::map<QString, Child> children_;
  QTimer timer_;
};

/// Returns what a run file says of itself. Error: it holds no experiment that could run again.
base::Result<trace::RunInfo> repeatable(const QString& runPath);

/// Returns the last line of a text file that says something; empty when there is none.
QString lastLineOf(const QString& path);

}  // namespace lockstep::ui
