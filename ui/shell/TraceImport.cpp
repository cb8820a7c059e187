#include "ui/shell/TraceImport.h"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QRegularExpression>

#include "ui/shell/MessageBar.h"
#include "ui/shell/RunController.h"

namespace lockstep::ui {
namespace {

const QString kImportMessage = QStringLiteral("import");
constexpr int kCountEveryMs = 1000;

}  // namespace

// Note [An import]
//
// Traces are read by `lockstep import`, a process of its own: traces of others may be large, or
// damaged in ways that nobody has thought of, and the studio outlives all that. Its output is
// followed by lines. The last one is shown as it goes, and is the reason where it fails; one that
// begins with "left out: " is kept for the end. The run is opened when its file is whole. When it
// fails, is cancelled or the studio goes, what there is of the file is removed.
TraceImport::TraceImport(const RunController& controller, MessageBar& messages, QWidget* window)
    : QObject(window),
      controller_(controller),
      messages_(messages),
      window_(window),
      program_(nullptr, QProcess::MergedChannels) {
  tick_.setInterval(kCountEveryMs);
  // While the program says nothing, the seconds show that it goes on.
  connect(&tick_, &QTimer::timeout, this, &TraceImport::tellProgress);
  connect(&program_, &AskedProgram::said, this, [this] {
    read(program_.takeOutput());
    if (!cancelled_) {
      tellProgress();
    }
  });
  connect(&program_, &AskedProgram::ended, this, &TraceImport::take);
}

TraceImport::~TraceImport() {
  if (busy()) {
    program_.drop();
    removeRun();
  }
}

void TraceImport::chooseFiles() {
  start(QFileDialog::getOpenFileNames(
      window_, tr("Import traces"), QString(),
      tr("Traces of torch.profiler, dumps and logs (*.json *.gz *.pickle *.pkl *.log *.jsonl);;"
         "All files (*)")));
}

void TraceImport::chooseFolder() {
  const QString folder =
      QFileDialog::getExistingDirectory(window_, tr("Import a folder of traces"));
  start(folder.isEmpty() ? QStringList() : QStringList{folder});
}

void TraceImport::start(const QStringList& paths) {
  if (paths.isEmpty()) {
    return;
  }
  const auto run = controller_.freshRunPath(QFileInfo(paths.front()).completeBaseName());
  if (!run.ok()) {
    fail(QString::fromStdString(run.error().message()));
    return;
  }
  if (busy()) {
    messages_.show(QStringLiteral("import more"), MessageBar::Kind::kWarning,
                   tr("%1 is being imported; one import at a time.").arg(what_));
    return;
  }
  const Programs& programs = controller_.programs();
  if (const QString reason = reasonAgainstStarting(programs); !reason.isEmpty()) {
    fail(reason);
    return;
  }
  what_ = paths.size() == 1 ? QFileInfo(paths.front()).fileName()
                            : tr("%1 files and folders").arg(paths.size());
  runPath_ = run.value();
  said_.clear();
  leftOut_.clear();
  cancelled_ = false;
  since_.start();
  tick_.start();
  tellProgress();
  // After "--" a file may have the name of an option.
  program_.start(programs.lockstep, QStringList{QStringLiteral("import"), QStringLiteral("--out"),
                                                runPath_, QStringLiteral("--")} +
                                        paths);
}

// Its last line says how far it is, and in the end why it failed.
void TraceImport::read(const QByteArray& text) {
  for (const QString& line : linesOf(text)) {
    said_ = line;
    if (line.startsWith(QStringLiteral("left out: "))) {
      leftOut_ = line;
    }
  }
}

void TraceImport::tellProgress() {
  messages_.show(kImportMessage, MessageBar::Kind::kInfo,
                 !said_.isEmpty() ? tr("Importing %1: %2").arg(what_, said_)
                 : since_.elapsed() < kCountEveryMs
                     ? tr("Importing %1…").arg(what_)
                     : tr("Importing %1… %2 s").arg(what_).arg(since_.elapsed() / 1000),
                 {{tr("Cancel"), [this] {
                     if (!busy()) return;
                     cancelled_ = true;
                     tick_.stop();
                     program_.endKindly();
                     messages_.show(kImportMessage, MessageBar::Kind::kInfo,
                                    tr("Cancelling the import…"));
                   }}});
}

void TraceImport::take(const ProgramAnswer& answer) {
  tick_.stop();
  if (answer.end == ProgramAnswer::End::kNotStarted) {
    fail(tr("%1: %2").arg(controller_.programs().lockstep, answer.whyNot));
    return;
  }
  read(answer.output);
  if (cancelled_) {
    removeRun();
    messages_.show(kImportMessage, MessageBar::Kind::kInfo,
                   tr("The import was cancelled; nothing was written."));
    return;
  }
  // Files that were left out are no failure: they are reported with the run.
  if (answer.good() && QFileInfo::exists(runPath_)) {
    messages_.dismiss(kImportMessage);
    emit imported(runPath_, leftOut_);
    return;
  }
  removeRun();
  said_.remove(QRegularExpression(QStringLiteral("^lockstep: ")));
  fail(answer.end == ProgramAnswer::End::kCrashed ? tr("%1: lockstep import crashed").arg(what_)
       : said_.isEmpty() ? tr("%1: lockstep import ended with exit code %2 and said nothing")
                               .arg(what_)
                               .arg(answer.exitCode)
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
