#include "ui/shell/RepeatedJob.h"

#include <QCoreApplication>
#include <QDir>
#include <string>

#include "engine/base/ShellWords.h"

namespace lockstep::ui {
namespace {

bool isOf(const JobRequest& job, const trace::RunInfo& run, const QString& folder) {
  JobRequest plain = job;
  plain.environment.clear();  // some want to be written again
  const auto start = checkedJob(plain);
  if (!start.ok()) {
    return false;
  }
  std::vector<std::string> words;
  for (const QString& word : start.value().words) {
    words.push_back(word.toStdString());
  }
  return base::shellLine(words) == run.command &&
         (folder.isEmpty() || start.value().folder == folder);
}

}  // namespace

RepeatedJob repeatedJob(const trace::RunInfo& run, const std::vector<JobRequest>& recent) {
  const auto tr = [&](const char* text) {
    return QCoreApplication::translate("RepeatedJob", text).arg(QString::fromStdString(run.name));
  };
  const auto kept = run.environment.find("folder");
  const QString folder =
      kept == run.environment.end() ? QString() : QString::fromStdString(kept->second);
  for (const JobRequest& job : recent) {
    if (isOf(job, run, folder)) {
      return {job, tr("The command of %1, as it was recorded from here last.")};
    }
  }
  // Variables are not in the run file, and how its models were found neither.
  return {{.command = QString::fromStdString(run.command),
           .folder = folder.isEmpty() ? QDir::homePath() : folder},
          tr("The command of %1. Its variables are not in the run file.")};
}

}  // namespace lockstep::ui
