#include "ui/panels/AskedProgram.h"

#include <unistd.h>

#include <QRegularExpression>
#include <csignal>
#include <utility>

namespace lockstep::ui {
namespace {

constexpr int kGraceMs = 3000;  // from SIGTERM to SIGKILL

}  // namespace

AskedProgram::AskedProgram(QObject* parent, QProcess::ProcessChannelMode channels)
    : QObject(parent), channels_(channels) {
  limit_.setSingleShot(true);
  connect(&limit_, &QTimer::timeout, this, [this] {
    tooLong_ = true;
    end();
  });
}

AskedProgram::~AskedProgram() {
  drop();
}

void AskedProgram::start(const QString& program, const QStringList& arguments, int limitMs) {
  drop();
  tooLong_ = false;
  process_ = new QProcess(this);
  process_->setProcessChannelMode(channels_);
  // Whoever reads from it finds the end of the input at once, and does not wait for an answer.
  process_->setStandardInputFile(QProcess::nullDevice());
  // A group of its own: what it starts ends with it.
  process_->setChildProcessModifier([] { setpgid(0, 0); });
  connect(process_, &QProcess::readyRead, this, &AskedProgram::said);
  connect(process_, &QProcess::finished, this, [this](int exitCode, QProcess::ExitStatus status) {
    finish({.end = tooLong_                        ? ProgramAnswer::End::kTooLong
                   : status == QProcess::CrashExit ? ProgramAnswer::End::kCrashed
                                                   : ProgramAnswer::End::kExited,
            .exitCode = exitCode,
            .output = process_->readAllStandardOutput(),
            // Of merged channels nothing is left for it, and Qt complains of the question.
            .errors = channels_ == QProcess::MergedChannels ? QByteArray()
                                                            : process_->readAllStandardError(),
            .whyNot = {}});
  });
  // Only this error has no `finished` after it.
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      finish({.end = ProgramAnswer::End::kNotStarted, .whyNot = process_->errorString()});
    }
  });
  if (limitMs > 0) {
    limit_.start(limitMs);
  }
  process_->start(program, arguments);
}

void AskedProgram::finish(ProgramAnswer answer) {
  limit_.stop();
  // Nothing is under way any more when `ended` is heard: whoever hears it may ask the next
  // question.
  std::exchange(process_, nullptr)->deleteLater();
  emit ended(answer);
}

// To the program and to all that it started.
void AskedProgram::signal(int number) {
  const auto group = static_cast<pid_t>(process_->processId());
  // It has no group before it has begun.
  if (group > 0 && ::kill(-group, number) != 0) {
    ::kill(group, number);
  }
}

void AskedProgram::end() {
  if (process_ != nullptr) {
    signal(SIGKILL);
    process_->kill();
  }
}

void AskedProgram::endKindly() {
  if (process_ != nullptr) {
    signal(SIGTERM);
    QTimer::singleShot(kGraceMs, process_, [this] { end(); });
  }
}

void AskedProgram::drop() {
  limit_.stop();
  if (process_ != nullptr) {
    // Silent first: a drop has no answer. SIGKILL cannot be refused, so the wait is short; it
    // spares the program a life after this object, and Qt's complaint about a process that is
    // destroyed while it runs.
    process_->disconnect(this);
    end();
    process_->waitForFinished();
    std::exchange(process_, nullptr)->deleteLater();
  }
}

QStringList linesOf(const QByteArray& text) {
  static const QRegularExpression kBreak(QStringLiteral("[\r\n]"));
  QStringList lines;
  for (const QString& line : QString::fromUtf8(text).split(kBreak)) {
    if (!line.trimmed().isEmpty()) {
      lines.append(line.trimmed());
    }
  }
  return lines;
}

QString lastLineIn(const QByteArray& text) {
  const QStringList lines = linesOf(text);
  return lines.isEmpty() ? QString() : lines.back();
}

}  // namespace lockstep::ui
