#include "ui/shell/TraceImport.h"

#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QRegularExpression>

#include "ui/shell/MessageBar.h"

namespace lockstep::ui {
namespace {

const QString kImportMessage = QStringLiteral("import");
constexpr int kGraceMs = 3000;  // from SIGTERM to SIGKILL
constexpr int kCountEveryMs = 1000;

}  // namespace

TraceImport::TraceImport(const Programs& programs, MessageBar& messages, QObject* parent)
    : QObject(parent), programs_(programs), messages_(messages) {
  tick_.setInterval(kCountEveryMs);
  connect(&tick_, &QTimer::timeout, this, &TraceImport::tellProgress);
}

TraceImport::~TraceImport() {
  if (process_ != nullptr) {
    process_->disconnect(this);
    process_->kill();
    process_->waitForFinished(kGraceMs);
    removeRun();
  }
}

void TraceImport::start(const QStringList& paths, const QString& runPath) {
  if (busy()) {
    messages_.show(QStringLiteral("import more"), MessageBar::Kind::kWarning,
                   tr("%1 is being imported; one import at a time.").arg(what_));
    return;
  }
  if (const QString reason = reasonAgainstStarting(programs_); !reason.isEmpty()) {
    fail(reason);
    return;
  }
  what_ = paths.size() == 1 ? QFileInfo(paths.front()).fileName()
                            : tr("%1 files and folders").arg(paths.size());
  runPath_ = runPath;
  said_.clear();
  leftOut_.clear();
  cancelled_ = false;
  since_.start();
  tick_.start();
  process_ = new QProcess(this);
  process_->setProcessChannelMode(QProcess::MergedChannels);
  process_->setStandardInputFile(QProcess::nullDevice());
  connect(process_, &QProcess::readyRead, this, &TraceImport::read);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      const QString why = process_->errorString();
      tick_.stop();
      process_->deleteLater();
      process_ = nullptr;
      fail(tr("%1: %2").arg(programs_.lockstep, why));
    }
  });
  connect(process_, &QProcess::finished, this, [this](int exitCode, QProcess::ExitStatus status) {
    takeEnd(exitCode, status == QProcess::CrashExit);
  });
  tellProgress();
  // Behind "--" a file may be called as an option is.
  process_->start(programs_.lockstep, QStringList{QStringLiteral("import"), QStringLiteral("--out"),
                                                  runPath, QStringLiteral("--")} +
                                          paths);
}

// Its last line says how far it is, and in the end why it failed.
void TraceImport::read() {
  static const QRegularExpression kBreak(QStringLiteral("[\r\n]"));
  for (const QString& line :
       QString::fromUtf8(process_->readAll()).split(kBreak, Qt::SkipEmptyParts)) {
    if (!line.trimmed().isEmpty()) {
      said_ = line.trimmed();
    }
    if (said_.startsWith(QStringLiteral("left out: "))) {
      leftOut_ = said_;
    }
  }
  if (!cancelled_) {
    tellProgress();
  }
}

void TraceImport::tellProgress() {
  messages_.show(kImportMessage, MessageBar::Kind::kInfo,
                 !said_.isEmpty() ? tr("Importing %1: %2").arg(what_, said_)
                 : since_.elapsed() < kCountEveryMs
                     ? tr("Importing %1…").arg(what_)
                     : tr("Importing %1… %2 s").arg(what_).arg(since_.elapsed() / 1000),
                 {{tr("Cancel"), [this] {
                     if (process_ == nullptr) return;
                     cancelled_ = true;
                     tick_.stop();
                     process_->terminate();
                     QTimer::singleShot(kGraceMs, process_, &QProcess::kill);
                     messages_.show(kImportMessage, MessageBar::Kind::kInfo,
                                    tr("Cancelling the import…"));
                   }}});
}

void TraceImport::takeEnd(int exitCode, bool crashed) {
  tick_.stop();
  read();
  process_->deleteLater();
  process_ = nullptr;
  if (cancelled_) {
    removeRun();
    messages_.show(kImportMessage, MessageBar::Kind::kInfo,
                   tr("The import was cancelled; nothing was written."));
    return;
  }
  if (!crashed && exitCode == 0 && QFileInfo::exists(runPath_)) {
    messages_.dismiss(kImportMessage);
    emit imported(runPath_, leftOut_);
    return;
  }
  removeRun();
  said_.remove(QRegularExpression(QStringLiteral("^lockstep: ")));
  fail(crashed           ? tr("%1: lockstep import crashed").arg(what_)
       : said_.isEmpty() ? tr("%1: lockstep import ended with exit code %2 and said nothing")
                               .arg(what_)
                               .arg(exitCode)
                         : said_);
}

void TraceImport::fail(const QString& sentence) {
  messages_.show(kImportMessage, MessageBar::Kind::kError, sentence);
  emit failed(sentence);
}

// A half run, with what SQLite keeps beside it.
void TraceImport::removeRun() const {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    QFile::remove(runPath_ + QLatin1String(suffix));
  }
}

}  // namespace lockstep::ui
