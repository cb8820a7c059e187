#include "ui/shell/RunController.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <utility>

#include "ui/panels/AskedProgram.h"
#include "ui/panels/LocalFiles.h"

namespace lockstep::ui {

using base::Error;
using base::ExitCode;

namespace {

constexpr int kWaitForFileMs = 50;
constexpr int kWaitForEndMs = 250;
constexpr int kStopLimitMs = 15'000;

// "demo" for both "demo.toml" and the repeated "demo-20260131-120000.toml".
QString plainName(const QString& file) {
  static const QRegularExpression kStamp(QStringLiteral(R"(-\d{8}-\d{6}(-\d+)?$)"));
  return QFileInfo(file).completeBaseName().remove(kStamp);
}

/// A run file is made empty, and filled a moment later; that of a job once a process attaches.
bool saysWhatItIs(const QString& path) {
  if (!QFileInfo::exists(path)) {
    return false;
  }
  const auto summary = trace::readRunSummary(path.toStdString());
  return summary.ok() && !summary.value().info.runId.empty();
}

}  // namespace

QString lastLineOf(const QString& path) {
  constexpr qint64 kTail = 8192;
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    return {};
  }
  file.seek(qMax<qint64>(0, file.size() - kTail));
  return lastLineIn(file.readAll());
}

// Note [The life of a run that was started here]
//
//   launch ─▶ no file yet ── the file says what it is ──▶ appeared ── process ended ──▶ ended
//                  └──────── process ended ─────────────▶ endedEarly (its last line)
//
// Nothing tells of a file or an end, so both are looked for by a timer, more often while somebody
// waits for a file. A file that exists is not enough: it is made empty and filled after that.
// look() asks for the end of the process before it looks for the file: what has ended has written
// all there is, so a run that appears and ends between two looks gives both signals.
//
// `stop` interrupts a process without a file, whom nobody else can reach; one with a file is
// stopped through it (`lockstep stop`), as any other run is, whoever started it.
RunController::RunController(Programs programs, QString runsFolder, QObject* parent)
    : QObject(parent), programs_(std::move(programs)), runsFolder_(std::move(runsFolder)) {
  connect(&timer_, &QTimer::timeout, this, &RunController::look);
}

base::Result<QString> RunController::freshRunPath(const QString& name) const {
  if (!QDir().mkpath(runsFolder_) || !QFileInfo(runsFolder_).isWritable()) {
    return Error{ExitCode::kEnvironment,
                 "the runs folder cannot be written; choose another with --runs",
                 runsFolder_.toStdString()};
  }
  const QString stem =
      runsFolder_ + '/' + name + '-' + QDateTime::currentDateTimeUtc().toString("yyyyMMdd-HHmmss");
  QString path = stem + QStringLiteral(".lockstep");
  for (int again = 2; QFileInfo::exists(path) || children_.contains(path); ++again) {
    path = stem + '-' + QString::number(again) + QStringLiteral(".lockstep");
  }
  return path;
}

base::Result<QString> RunController::start(const QString& file) {
  auto path = freshRunPath(plainName(file));
  return path.ok() ? launchRun(file, path.value()) : path;
}

base::Result<QString> RunController::record(const JobStart& job) {
  auto path = job.runFile.isEmpty() ? freshRunPath(job.name) : base::Result<QString>(job.runFile);
  if (!path.ok()) {
    return path;
  }
  QStringList arguments{
      QStringLiteral("record"),
      QStringLiteral("--quiet"),
      QStringLiteral("--name=") + job.name,
      job.everyModel ? QStringLiteral("--attach=auto") : QStringLiteral("--attach=watch"),
      QStringLiteral("--out"),
      path.value()};
  if (job.checkReplicas > 0) {
    arguments.append(QStringLiteral("--check-replicas=%1").arg(job.checkReplicas));
  }
  if (!job.detail.isEmpty()) {
    arguments.append(QStringLiteral("--detail=") + job.detail);
  }
  if (job.limitMb > 0) {
    arguments.append(QStringLiteral("--limit-mb=%1").arg(job.limitMb));
  }
  arguments.append(QStringLiteral("--"));
  // Beside a run in a folder of the user's may stand a log of the user's.
  const auto beside = job.runFile.isEmpty() ? path : freshRunPath(job.name);
  return beside.ok() ? launch(arguments + job.words, path.value(),
                              fileBeside(beside.value(), ".log"), {job.folder, job.environment})
                     : beside;
}

base::Result<trace::RunInfo> repeatable(const QString& runPath) {
  auto summary = trace::readRunSummary(runPath.toStdString());
  if (!summary.ok()) {
    return summary.error();
  }
  trace::RunInfo info = std::move(summary).value().info;
  if (info.kind == trace::RunKind::kExperiment) {
    return info;
  }
  return Error{ExitCode::kBadInput,
               info.kind == trace::RunKind::kObserved
                   ? "this is a job of PyTorch, which its own command starts: lockstep record -- " +
                         info.command
               : info.kind == trace::RunKind::kSimulated
                   ? "this was simulated: repeat the run that it was made from"
                   : "this was made of traces, and holds nothing that could be run again",
               runPath.toStdString()};
}

base::Result<QString> RunController::repeat(const QString& runPath) {
  const auto info = repeatable(runPath);
  if (!info.ok()) {
    return info.error();
  }
  auto path = freshRunPath(plainName(runPath));
  if (!path.ok()) {
    return path;
  }
  QFile file(fileBeside(path.value(), ".toml"));
  const std::string& toml = info.value().experimentToml;
  if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate) ||
      file.write(toml.data(), static_cast<qint64>(toml.size())) < 0) {
    return Error{ExitCode::kEnvironment, "cannot be written: " + file.errorString().toStdString(),
                 file.fileName().toStdString()};
  }
  file.close();
  return launchRun(file.fileName(), path.value());
}

base::Result<QString> RunController::launchRun(const QString& experiment, const QString& runPath) {
  return launch({QStringLiteral("run"), experiment, QStringLiteral("--out"), runPath}, runPath,
                fileBeside(runPath, ".log"), {});
}

base::Result<QString> RunController::launch(const QStringList& arguments, const QString& runPath,
                                            const QString& output,
                                            const DetachedProcess::Place& place) {
  if (programs_.building) {
    return Error{ExitCode::kEnvironment, reasonAgainstStarting(programs_).toStdString(), {}};
  }
  if (programs_.lockstep.isEmpty()) {
    return Error{ExitCode::kEnvironment,
                 "there is no lockstep program here; build it, or name its folder with --programs",
                 programs_.folder.toStdString()};
  }
  auto process = DetachedProcess::start(programs_.lockstep, arguments, output, place);
  if (!process.ok()) {
    return process.error();
  }
  children_.emplace(runPath, Child{std::move(process).value(), output});
  timer_.start(kWaitForFileMs);
  return runPath;
}

QString RunController::outputOf(const QString& runPath) const {
  const auto child = children_.find(runPath);
  return child == children_.end() ? QString() : child->second.outputPath;
}

void RunController::stop(const QString& runPath) {
  const auto child = children_.find(runPath);
  if (child != children_.end() && !child->second.appeared) {
    child->second.process.interrupt();
    return;
  }
  if (programs_.lockstep.isEmpty()) {
    emit stopFailed(
        programs_.building
            ? tr("the run cannot be stopped from here before lockstep is built")
            : tr("%1: there is no lockstep program to stop the run with").arg(programs_.folder));
    return;
  }
  auto* stopper = new AskedProgram(this, QProcess::MergedChannels);
  connect(stopper, &AskedProgram::ended, this,
          [this, stopper, runPath](const ProgramAnswer& answer) {
            stopper->deleteLater();
            if (answer.end == ProgramAnswer::End::kNotStarted) {
              emit stopFailed(tr("%1: %2").arg(programs_.lockstep, answer.whyNot));
            } else if (answer.end == ProgramAnswer::End::kTooLong) {
              emit stopFailed(
                  tr("%1: the run did not stop within %2 s").arg(runPath).arg(kStopLimitMs / 1000));
            } else if (!answer.good()) {
              const QString said = lastLineIn(answer.output);
              emit stopFailed(said.isEmpty() ? tr("%1: could not be stopped").arg(runPath) : said);
            }
          });
  stopper->start(programs_.lockstep, {QStringLiteral("stop"), runPath}, kStopLimitMs);
}

void RunController::look() {
  bool waitsForFile = false;
  QStringList appearedNow;
  QStringList endedNow;
  for (auto& [path, child] : children_) {
    const bool over = child.process.poll().has_value();
    if (!child.appeared) {
      if (saysWhatItIs(path)) {
        child.appeared = true;
        appearedNow.append(path);
      } else {
        waitsForFile = true;
      }
    }
    if (over) {
      endedNow.append(path);
    }
  }
  // Whoever listens may start another run: children_ is walked no longer.
  for (const QString& path : appearedNow) {
    emit appeared(path);
  }
  for (const QString& path : endedNow) {
    const auto child = children_.find(path);
    const int exitCode = child->second.process.poll().value();
    const bool hadFile = child->second.appeared;
    const QString output = child->second.outputPath;
    children_.erase(child);
    if (hadFile) {
      emit ended(path, exitCode);
    } else {
      emit endedEarly(path, lastLineOf(output), exitCode);
    }
  }
  if (children_.empty()) {
    timer_.stop();
  } else {
    timer_.setInterval(waitsForFile ? kWaitForFileMs : kWaitForEndMs);
  }
}

}  // namespace lockstep::ui
