#pragma once

#include <QString>
#include <QStringList>

#include "engine/base/Result.h"

namespace lockstep::ui {

/// A job of PyTorch that is to be recorded, as its user writes it down.
struct JobRequest {
  QString command = {};  ///< one line, as for a shell; NAME=value may stand before the program
  QStringList environment = {};  ///< "NAME=value" each, on top of the studio's own
  QString folder = {};           ///< where it runs
  bool everyModel = true;  ///< whether each DistributedDataParallel is watched, or only those that
                           ///< the script hands to lockstep.watch
  /// Name of the run, or the path of its file when it has a slash or ends in ".lockstep"; empty:
  /// the name of the script.
  QString run = {};
  int checkReplicas = 0;  ///< iterations between two comparisons of the ranks' parameters; 0: never
  QString detail = QStringLiteral("full");  ///< what the run file keeps: capture.detail
  int limitMb = 0;                          ///< of the run file: capture.limit_mb; 0: none

  bool operator==(const JobRequest&) const = default;
};

/// What `lockstep record` is started with for a request.
struct JobStart {
  QStringList words;
  QStringList environment;
  QString folder;
  bool everyModel = true;
  QString name;
  int checkReplicas = 0;
  QString detail;
  int limitMb = 0;
  QString runFile;  ///< empty: a fresh one in the runs folder
};

/// Error: one line about the first mistake, which is the user's: no command, no such program or
/// folder, a quote that is not closed, a variable without a name. Reads folders.
base::Result<JobStart> checkedJob(const JobRequest& request);

/// Whether the name of a variable says that its value is nobody else's: key, token, secret, ...
bool isSecretName(const QString& variable);

}  // namespace lockstep::ui
