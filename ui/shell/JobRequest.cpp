#include "ui/shell/JobRequest.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>
#include <algorithm>
#include <vector>

#include "engine/base/ShellWords.h"

namespace lockstep::ui {
namespace {

using base::Error;
using base::ExitCode;

QString jobText(const char* text) {
  return QCoreApplication::translate("JobRequest", text);
}

Error mistake(const QString& sentence) {
  return {ExitCode::kBadInput, sentence.toStdString(), {}};
}

QString nameOf(const QString& variable) {
  return variable.section('=', 0, 0);
}

/// Whether a shell takes the word for a variable that is set.
bool setsVariable(const QString& word) {
  static const QRegularExpression kSets(QStringLiteral("^[A-Za-z_][A-Za-z0-9_]*="));
  return kSets.match(word).hasMatch();
}

QString withHome(const QString& path) {
  return path == QStringLiteral("~") || path.startsWith(QStringLiteral("~/"))
             ? QDir::homePath() + path.mid(1)
             : path;
}

/// What is wrong with the variables; empty: nothing.
QString mistakeIn(const QStringList& environment) {
  QStringList names;
  for (const QString& entry : environment) {
    const QString name = nameOf(entry);
    if (!entry.contains('=')) {
      return jobText("%1 has no value; a variable is written NAME=value").arg(entry);
    }
    if (!setsVariable(entry)) {
      return jobText("%1 is no name of a variable: letters, digits and _, no digit first")
          .arg(name.isEmpty() ? entry : name);
    }
    if (names.contains(name)) {
      return jobText("%1 is set twice").arg(name);
    }
    if (isSecretName(name) && entry.size() == name.size() + 1) {
      return jobText("%1 is empty: the studio keeps no keys, tokens and passwords; write it again")
          .arg(name);
    }
    names.append(name);
  }
  return {};
}

/// Where a program is looked for: as the command will have it.
QStringList searchPath(const QStringList& environment) {
  QString path = qEnvironmentVariable("PATH");
  for (const QString& entry : environment) {
    if (entry.startsWith(QStringLiteral("PATH="))) {
      path = entry.section('=', 1);
    }
  }
  return path.split(':', Qt::SkipEmptyParts);
}

/// What is wrong with the program; empty: it can be started.
QString mistakeInProgram(const QString& program, const JobStart& start) {
  if (!program.contains('/')) {
    return QStandardPaths::findExecutable(program, searchPath(start.environment)).isEmpty()
               ? jobText("there is no program %1 on the path; write where it stands").arg(program)
               : QString();
  }
  const QFileInfo file(QDir(start.folder), program);
  return !file.exists() ? jobText("there is no program %1").arg(file.absoluteFilePath())
         : file.isDir() ? jobText("%1 is a folder, and no program").arg(program)
         : file.isExecutable()
             ? QString()
             : jobText("%1 cannot be executed; python3 before it?").arg(file.absoluteFilePath());
}

/// Sets the name of the run and its file; returns what is wrong with them, or nothing.
// "demo" names a run, whose file is a fresh one; "demo.lockstep" and "runs/demo" are files, from
// the job's folder on.
QString placeRun(const QString& run, const std::string& command, JobStart& start) {
  const QString ending = QStringLiteral(".lockstep");
  start.name = QString::fromStdString(command);
  if (run.isEmpty()) {
    return {};
  }
  if (!run.contains('/') && !run.endsWith(ending)) {
    start.name = run;
    return {};
  }
  QFileInfo file(QDir(start.folder), withHome(run.endsWith(ending) ? run : run + ending));
  start.runFile = file.absoluteFilePath();
  start.name = file.completeBaseName();
  if (file.exists()) {
    return jobText("there is a run %1 already").arg(start.runFile);
  }
  return file.absoluteDir().exists()
             ? QString()
             : jobText("there is no folder %1 for the run").arg(file.absolutePath());
}

}  // namespace

bool isSecretName(const QString& variable) {
  // The same words as the observer leaves out of run files.
  static const QStringList kWords{"key",    "token",      "secret", "password",
                                  "passwd", "credential", "auth"};
  return std::any_of(kWords.begin(), kWords.end(), [&](const QString& word) {
    return variable.contains(word, Qt::CaseInsensitive);
  });
}

base::Result<JobStart> checkedJob(const JobRequest& request) {
  const auto words = base::shellWords(request.command.toStdString());
  if (!words.ok()) {
    return words.error();
  }
  JobStart start;
  start.everyModel = request.everyModel;
  start.checkReplicas = request.checkReplicas;
  start.detail = request.detail;
  start.limitMb = request.limitMb;
  // As in a shell, NAME=value before the program is set for it.
  std::vector<std::string> command = words.value();
  while (!command.empty() && setsVariable(QString::fromStdString(command.front()))) {
    start.environment.append(QString::fromStdString(command.front()));
    if (const QString name = nameOf(start.environment.back()); isSecretName(name)) {
      return mistake(jobText("%1 stands in the command, which is kept for the next time: write it "
                             "under Variables, where its value is not")
                         .arg(name));
    }
    command.erase(command.begin());
  }
  if (command.empty()) {
    return mistake(jobText("write the command that starts the job"));
  }
  for (const std::string& word : command) {
    start.words.append(QString::fromStdString(word));
  }
  start.environment += request.environment;
  // One mistake at a time. Variables and folder come before the program, which is looked for by
  // them.
  if (const QString wrong = mistakeIn(start.environment); !wrong.isEmpty()) {
    return mistake(wrong);
  }
  start.folder = QDir::cleanPath(withHome(request.folder.trimmed()));
  const QFileInfo folder(start.folder);
  if (request.folder.trimmed().isEmpty()) {
    return mistake(jobText("name the folder that it runs in"));
  }
  if (!folder.isAbsolute() || !folder.isDir()) {
    return mistake(folder.isAbsolute()
                       ? jobText("there is no folder %1").arg(start.folder)
                       : jobText("%1: write the folder from / on").arg(start.folder));
  }
  if (const QString wrong = mistakeInProgram(start.words.front(), start); !wrong.isEmpty()) {
    return mistake(wrong);
  }
  if (const QString wrong = placeRun(request.run.trimmed(), base::commandName(command), start);
      !wrong.isEmpty()) {
    return mistake(wrong);
  }
  return start;
}

}  // namespace lockstep::ui
